import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { RTP_HEADER_BYTES, writeRtpHeader } from '../../media/rtp/rtp.ts'
import type { UaEvent } from '../../sip/agent-types.ts'
import { answerOffer, type Capabilities, PCMU } from '../../sip/sdp/offer-answer.ts'
import { type Action, UserAgent } from '../../sip/user-agent.ts'
import { freePort } from '../free-port.ts'
import { makeVoices, type Party, type PartyKind, partyOf, REFUSALS } from './parties.ts'

const HOST = '127.0.0.1'
const TURN_MS = 20
const OCTETS = 160
/** µ-law of silence. */
const SILENCE = 0xff
/** Magnitude of a µ-law code from which on a sample is sound, of 0 to 127. */
const LOUD_CODE = 0x30
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024

/** One INVITE as the far end saw it; all times are Unix time [ms]. */
export interface SeenCall {
  phone: string
  from: string
  kind: PartyKind
  invitedAt: number
  /** Lower bound of its arrival, when everything that had arrived was read: a busy machine reads late. */
  invitedAfter: number
  answeredAt: number | null
  endedAt: number | null
  /** When the first sound arrived for it. */
  heardAt: number | null
  /** Number of packets that arrived for it after its answer. */
  packets: number
}

type VoiceOf = (kind: PartyKind, nth: number) => Uint8Array

interface Line {
  seen: SeenCall
  party: Party
  nth: number
  offer: Uint8Array
  timer: NodeJS.Timeout | null
  /** Where it sends audio; null: nowhere. */
  to: { host: string; port: number } | null
  said: Uint8Array
  frame: number
  ssrc: number
}

/** Everybody whom a campaign calls: one SIP user agent on one UDP socket, and another socket for all audio. */
export class FarEnd {
  readonly seen: SeenCall[] = []
  readonly #sip: Socket
  readonly #audio: Socket
  readonly #agent: UserAgent
  readonly #seed: number
  readonly #voiceOf: VoiceOf
  readonly #lines = new Map<string, Line>()
  /** By the port from which its audio comes. */
  readonly #byPort = new Map<number, Line>()
  readonly #calls = new Map<string, number>()
  readonly #packet = new Uint8Array(RTP_HEADER_BYTES + OCTETS)
  readonly #timer: NodeJS.Timeout
  /** Unix time [ms]. */
  #readAllAt = Date.now()
  #isReading = false

  private constructor(sockets: { sip: Socket; audio: Socket }, seed: number, voiceOf: VoiceOf) {
    this.#sip = sockets.sip
    this.#audio = sockets.audio
    this.#seed = seed
    this.#voiceOf = voiceOf
    this.#agent = new UserAgent({
      name: 'tandem-far-end',
      local: () => ({ host: HOST, port: this.port }),
      random: () => randomBytes(12).toString('hex'),
    })
    this.#sip.on('message', (bytes, from) => {
      this.#read()
      const peer = { transport: 'udp' as const, host: from.address, port: from.port }
      this.#do(this.#agent.receive(bytes, peer, performance.now()))
    })
    this.#audio.on('message', (bytes, from) => {
      const seen = this.#byPort.get(from.port)?.seen
      if (seen === undefined) return
      seen.packets++
      if (seen.heardAt === null && isSound(bytes)) seen.heardAt = Date.now()
    })
    this.#timer = setInterval(() => {
      this.#read()
      this.#do(this.#agent.advance(performance.now()))
      this.#talk()
    }, TURN_MS)
  }

  static async open(seed: number): Promise<FarEnd> {
    const voiceOf = await makeVoices()
    const [sip, audio] = [await socketAt(await freePort()), await socketAt(await freePort())]
    return new FarEnd({ sip, audio }, seed, voiceOf)
  }

  get port(): number {
    return this.#sip.address().port
  }

  close(): void {
    clearInterval(this.#timer)
    for (const { timer } of this.#lines.values()) if (timer !== null) clearTimeout(timer)
    this.#sip.close()
    this.#audio.close()
  }

  /** Sets `#readAllAt` to the present time at the end of this turn of the event loop, when everything that has arrived by now was read. */
  #read(): void {
    if (this.#isReading) return
    this.#isReading = true
    const at = Date.now()
    setImmediate(() => {
      this.#isReading = false
      this.#readAllAt = at
    })
  }

  #do(actions: Action[]): void {
    for (const action of actions) {
      if (action.kind === 'send') this.#sip.send(action.bytes, action.to.port, action.to.host)
      else if (action.kind === 'event') this.#on(action.event)
    }
  }

  #on(event: UaEvent): void {
    if (event.kind === 'incoming') this.#ring(event)
    else if (event.kind === 'ended') this.#over(event.sessionId)
  }

  #ring({ sessionId, requestUri, from, offer }: Extract<UaEvent, { kind: 'incoming' }>): void {
    const phone = /\+\d+/.exec(requestUri)?.[0] ?? requestUri
    const nth = this.#calls.get(phone) ?? 0
    this.#calls.set(phone, nth + 1)
    const party = partyOf(phone, nth, this.#seed)
    const { kind, ringsMs } = party
    const seen: SeenCall = {
      ...{ phone, from: from.uri, kind, invitedAt: Date.now(), invitedAfter: this.#readAllAt },
      ...{ answeredAt: null, endedAt: null, heardAt: null, packets: 0 },
    }
    this.seen.push(seen)
    const line: Line = {
      ...{ seen, party, nth, offer: offer?.bytes ?? new Uint8Array(), timer: null },
      ...{ to: null, said: this.#voiceOf(kind, nth), frame: 0, ssrc: randomBytes(4).readUInt32BE() },
    }
    this.#lines.set(sessionId, line)
    if (kind !== 'unknown') this.#do(this.#agent.provisional(sessionId, 180, null, performance.now()))
    if (kind === 'silent') return
    line.timer = setTimeout(() => this.#decide(sessionId, line), ringsMs)
  }

  #decide(sessionId: string, line: Line): void {
    const status = REFUSALS[line.party.kind]
    if (status !== undefined) {
      this.#do(this.#agent.reject(sessionId, status, performance.now()))
      return
    }
    const capabilities: Capabilities = {
      codecs: [PCMU],
      telephoneEvent: true,
      host: HOST,
      port: this.#audio.address().port,
    }
    const answered = answerOffer(line.offer, capabilities, 'sendrecv', { id: String(line.ssrc), previous: null })
    if ('error' in answered) {
      this.#do(this.#agent.reject(sessionId, 488, performance.now()))
      return
    }
    const { remoteHost: host, remotePort: port } = answered.media
    line.seen.answeredAt = Date.now()
    line.to = { host, port }
    this.#byPort.set(port, line)
    const body = { type: 'application/sdp', bytes: answered.answer }
    this.#do(this.#agent.accept(sessionId, body, performance.now()))
    line.timer = setTimeout(() => this.#do(this.#agent.bye(sessionId, performance.now())), line.party.talksMs)
  }

  #over(sessionId: string): void {
    const line = this.#lines.get(sessionId)
    if (line === undefined) return
    this.#lines.delete(sessionId)
    line.seen.endedAt = Date.now()
    if (line.timer !== null) clearTimeout(line.timer)
    if (line.to !== null && this.#byPort.get(line.to.port) === line) this.#byPort.delete(line.to.port)
  }

  #talk(): void {
    for (const line of this.#lines.values()) {
      if (line.to === null) continue
      const { frame, ssrc, said, to } = line
      const header = { marker: frame === 0, payloadType: 0, sequence: frame & 0xffff, timestamp: frame * OCTETS, ssrc }
      writeRtpHeader(this.#packet, header)
      const octets = said.subarray(frame * OCTETS, (frame + 1) * OCTETS)
      this.#packet.fill(SILENCE, RTP_HEADER_BYTES)
      this.#packet.set(octets, RTP_HEADER_BYTES)
      line.frame++
      this.#audio.send(Buffer.from(this.#packet), to.port, to.host)
    }
  }
}

/** Whether a packet of µ-law has a sample above about -31 dBov. */
const isSound = (packet: Buffer): boolean => packet.subarray(RTP_HEADER_BYTES).some(code => (~code & 0x7f) >= LOUD_CODE)

async function socketAt(port: number): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: RECEIVE_BUFFER_BYTES })
  socket.on('error', () => {})
  socket.bind(port, HOST)
  await once(socket, 'listening')
  return socket
}
