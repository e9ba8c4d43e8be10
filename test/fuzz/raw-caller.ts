import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

export interface Address {
  host: string
  port: number
}

const T1_MS = 500
/** Time limit for an answer [ms]. */
const ANSWER_MS = 20_000

/** A UDP socket on the loopback address that sends exactly the given bytes, and passes on what it receives. */
export class RawSocket {
  readonly port: number
  readonly #socket: Socket

  private constructor(socket: Socket, onBytes: (bytes: Buffer, from: Address) => void) {
    this.#socket = socket
    this.port = socket.address().port
    socket.on('message', (bytes, from) => onBytes(bytes, { host: from.address, port: from.port }))
    socket.on('error', () => {})
  }

  static async open(onBytes: (bytes: Buffer, from: Address) => void = () => {}): Promise<RawSocket> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new RawSocket(socket, onBytes)
  }

  /** Resolves when the kernel has accepted the datagram. */
  send(bytes: Uint8Array, { host, port }: Address): Promise<void> {
    return new Promise(sent => this.#socket.send(bytes, port, host, () => sent()))
  }

  close(): void {
    this.#socket.close()
  }
}

export interface Template {
  method: string
  callId: string
  branch: string
  user: string
  host: string
  port: number
  serverPort: number
  fromTag: string
  toTag?: string
  cseq?: number
  /** Default 70. */
  maxForwards?: number
  headers?: string[]
  body?: string
}

/** The text of a valid request (RFC 3261 §8.1.1). */
export function request(t: Template): string {
  const cseq = `${t.cseq ?? 1} ${t.method}`
  return [
    `${t.method} sip:${t.user}@127.0.0.1:${t.serverPort} SIP/2.0`,
    `Via: SIP/2.0/UDP ${t.host}:${t.port};branch=${t.branch};rport`,
    `Max-Forwards: ${t.maxForwards ?? 70}`,
    `From: "Fuzz" <sip:fuzz@${t.host}:${t.port}>;tag=${t.fromTag}`,
    `To: <sip:${t.user}@127.0.0.1:${t.serverPort}>${t.toTag === undefined ? '' : `;tag=${t.toTag}`}`,
    `Call-ID: ${t.callId}`,
    `CSeq: ${cseq}`,
    `Contact: <sip:fuzz@${t.host}:${t.port}>`,
    ...(t.headers ?? []),
    ...(t.body === undefined ? [] : ['Content-Type: application/sdp']),
    `Content-Length: ${t.body === undefined ? 0 : Buffer.byteLength(t.body)}`,
    '',
    t.body ?? '',
  ].join('\r\n')
}

/** A valid offer: PCMU, PCMA and telephone events to `port`. */
export const offer = (port: number): string =>
  [
    'v=0',
    'o=fuzz 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${port} RTP/AVP 0 8 101`,
    'a=rtpmap:0 PCMU/8000',
    'a=rtpmap:8 PCMA/8000',
    'a=rtpmap:101 telephone-event/8000',
    'a=fmtp:101 0-15',
    `a=rtcp:${port + 1}`,
    'a=ptime:20',
    'a=sendrecv',
    '',
  ].join('\r\n')

/** The unparsed value of the first header of that name. */
export const headerOf = (message: string, name: string): string | null =>
  new RegExp(`^${name}:[ \\t]*(.*?)\\r?$`, 'im').exec(message)?.[1] ?? null

/**
 * A call of raw bytes, so that each of its messages can be broken: INVITE, ACK and BYE are valid unless the test sends others. The product latches
 * onto its RTP socket.
 */
export class RawCall {
  readonly rtp: RawSocket
  /** Every packet that the RTP socket received. */
  readonly heard: Buffer[]
  readonly dialog: Template
  /** Where the product receives this call's RTP. */
  readonly media: Address
  /** The 200, as received. */
  readonly answer: string
  readonly #sip: RawSocket
  readonly #server: Address
  #cseq = 1

  private constructor(
    sip: RawSocket,
    rtp: RawSocket,
    heard: Buffer[],
    server: Address,
    dialog: Template,
    media: Address,
    answer: string,
  ) {
    this.#sip = sip
    this.rtp = rtp
    this.heard = heard
    this.#server = server
    this.dialog = dialog
    this.media = media
    this.answer = answer
  }

  /** @param body its offer, by the port of its RTP */
  static async open(user: string, server: Address, id: string, body = offer): Promise<RawCall> {
    let answered: (message: string) => void = () => {}
    const answer = new Promise<string>(resolve => (answered = resolve))
    const sip = await RawSocket.open(bytes => {
      const text = bytes.toString('latin1')
      if (text.startsWith('SIP/2.0 ') && !text.startsWith('SIP/2.0 1')) answered(text)
    })
    const heard: Buffer[] = []
    const rtp = await RawSocket.open(bytes => heard.push(bytes))
    const template: Template = {
      method: 'INVITE',
      callId: `raw-${id}`,
      branch: `z9hG4bKraw${id}`,
      user,
      host: '127.0.0.1',
      port: sip.port,
      serverPort: server.port,
      fromTag: `raw${id}`,
      body: body(rtp.port),
    }
    const invite = Buffer.from(request(template))
    // Retransmission, as a datagram may be lost in a full socket buffer (RFC 3261 §17.1.1.2).
    const again = setInterval(() => void sip.send(invite, server), T1_MS)
    const giveUp = setTimeout(() => answered('nothing'), ANSWER_MS)
    await sip.send(invite, server)
    const reply = await answer
    clearInterval(again)
    clearTimeout(giveUp)
    if (!reply.startsWith('SIP/2.0 200')) {
      sip.close()
      rtp.close()
      throw new Error(`a raw call to ${user} got: ${reply.slice(0, 200)}`)
    }
    const port = Number(/^m=audio (\d+)/m.exec(reply)?.[1])
    const toTag = /;tag=([^\s;>]+)/.exec(headerOf(reply, 'To') ?? '')?.[1] ?? ''
    const { body: _offer, ...dialog } = { ...template, toTag }
    const call = new RawCall(sip, rtp, heard, server, dialog, { host: server.host, port }, reply)
    await call.say(call.text('ACK', { cseq: 1 }))
    return call
  }

  /** A valid request inside the dialog. */
  text(method: string, change: Partial<Template> = {}): string {
    const cseq = change.cseq ?? ++this.#cseq
    return request({ ...this.dialog, method, cseq, branch: `${this.dialog.branch}-${method}-${cseq}`, ...change })
  }

  say(bytes: Uint8Array | string): Promise<void> {
    return this.#sip.send(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, this.#server)
  }

  async hangup(): Promise<void> {
    await this.say(this.text('BYE'))
    this.#sip.close()
    this.rtp.close()
  }
}
