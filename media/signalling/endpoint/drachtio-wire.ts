import { LRUCache } from 'lru-cache'
import { canonicalName } from '../../../sip/message/message.ts'
import type { Peer, Transport } from '../../../sip/user-agent.ts'
import { atMost } from '../../protocol.ts'
import {
  branchOf,
  fieldOf,
  fieldsBut,
  fieldsOf,
  headersOf,
  readSipText,
  type SipText,
  tagOf,
  withTag,
  writeSipText,
} from './drachtio-text.ts'

/**
 * SIP by way of a drachtio server (https://drachtio.org), which has the sockets and the transactions of RFC 3261 §17: our user agent has the
 * dialogs, as over sockets of our own. What it sends becomes a request or a response of drachtio's client, and what comes back is given the
 * Via, CSeq and tags by which the agent knows it. Retransmissions are the server's; ours are not passed on.
 */

/** Where the server takes its applications. */
export interface DrachtioServer {
  host: string
  port: number
  secret: string
}

interface DrachtioWireOptions {
  server: DrachtioServer
  receive(bytes: Uint8Array, from: Peer): void
  /** A request to this far end came to nothing. */
  failed(to: Peer): void
  /** The connection to the server broke; it is made again. */
  broke(): void
}

/** What of drachtio-srf is used. */
interface DrachtioClient {
  connect(options: DrachtioServer & { reconnect: object }): void
  disconnect(): void
  use(handler: (request: ServerRequest, response: ServerResponse) => void): void
  use(method: string, handler: () => void): void
  request(
    uri: string,
    options: RequestOptions,
    callback: (error: (Error & { code?: string }) | null, request: ClientRequest) => void,
  ): void
  on(event: 'connect', listener: (error: Error | null, addresses: string) => void): void
  on(event: 'close' | 'error', listener: (error?: Error) => void): void
}

interface RequestOptions {
  method: string
  headers: Record<string, string>
  body?: string
  proxy?: string
  stackDialogId?: string
}

interface Parsed {
  /** As it came. */
  raw: string
  stackDialogId?: string
  get(name: string): string | undefined
}

interface ServerRequest extends Parsed {
  method: string
  protocol: string
  source: 'network' | 'application'
  source_address: string
  source_port: number
  on(event: 'cancel', listener: (cancel: Parsed) => void): void
  on(event: 'update', listener: (request: ServerRequest, response: ServerResponse) => void): void
}

interface ServerResponse {
  send(
    status: number,
    reason: string,
    options: { headers: Record<string, string>; body?: string },
    sent: (error: unknown, response?: Parsed) => void,
  ): void
  meta?: { dialogId?: string }
}

interface ClientRequest extends Parsed {
  cancel(done: () => void): void
  on(
    event: 'response',
    listener: (response: Parsed, ack: (options: { headers: object; body?: string }) => void) => void,
  ): void
  on(event: 'update', listener: (request: ServerRequest, response: ServerResponse) => void): void
}

/** A request of the network's that is not finally answered. */
interface Asked {
  response: ServerResponse
  request: ServerRequest
}

/** A request of ours. */
interface Sent {
  text: SipText
  to: Peer
  /** Absent until the server has taken it. */
  request?: ClientRequest
  isCancelled: boolean
  /** Of an INVITE that was answered. */
  ack?: (options: { headers: object; body?: string }) => void
}

/** The server knows the far end of a dialog. */
const IN_ITS_DIALOG = 'sip:placeholder'
const CONNECT_MS = 10_000
/** Between two tries to reach a server that is away [ms]. */
const MOST_PAUSE_MS = 2000
/** More at once than a node carries; what is forgotten was of calls that are over. */
const MOST = 50_000
const METHODS = [
  'invite',
  'ack',
  'bye',
  'info',
  'message',
  'notify',
  'options',
  'refer',
  'register',
  'subscribe',
  'update',
]
/** The server makes them, or copies them from the request. */
const OF_THE_SERVER = new Set(['via', 'from', 'call-id', 'cseq', 'content-length', 'record-route', 'max-forwards'])
const OF_A_DIALOG = new Set([...OF_THE_SERVER, 'to', 'route'])
/** A new request keeps who it is of, and how often it was passed on. */
const OF_TRANSPORT = new Set(['via', 'cseq', 'content-length'])
/** By which the agent knows the answer to what it has asked. */
const OF_THE_QUESTION = new Set(['via', 'from', 'to', 'call-id', 'cseq', 'content-length'])

export class DrachtioWire {
  readonly #client: DrachtioClient
  readonly #options: DrachtioWireOptions
  /** By branch and method. */
  readonly #asked = new LRUCache<string, Asked>(atMost(MOST))
  /** By branch and method; INVITEs until they are acknowledged. */
  readonly #sent = new LRUCache<string, Sent>(atMost(MOST))
  /** INVITEs of ours by Call-ID and number: what an ACK belongs to. */
  readonly #invites = new LRUCache<string, Sent>(atMost(MOST))
  /** The server's names of dialogs, by Call-ID, our tag and theirs. */
  readonly #dialogs = new LRUCache<string, string>(atMost(MOST))
  /** Our tags, by Call-ID and the tag that the server has put in their place. */
  readonly #ownTags = new LRUCache<string, string>(atMost(MOST))
  /** Where the server is reached, by transport; empty while it is away. */
  #addresses = new Map<string, { host: string; port: number }>()

  private constructor(client: DrachtioClient, options: DrachtioWireOptions) {
    this.#client = client
    this.#options = options
    client.use((request, response) => this.#requested(request, response))
    // For the server to know what we take; the handler above has all.
    for (const method of METHODS) client.use(method, () => {})
    client.on('connect', (error, addresses) => {
      if (error == null) this.#addresses = readAddresses(addresses)
    })
    client.on('close', () => {
      if (this.isConnected) options.broke()
      this.#addresses.clear()
    })
    // A break is told by `close` as well.
    client.on('error', () => {})
  }

  /** Rejects when the server does not answer, or does not know the secret. A connection that breaks later is made again. */
  static async connect(options: DrachtioWireOptions): Promise<DrachtioWire> {
    const { default: Srf } = await import('drachtio-srf')
    const client = new Srf() as unknown as DrachtioClient
    const wire = new DrachtioWire(client, options)
    const { server } = options
    const where = `the drachtio server at ${server.host}:${server.port}`
    await new Promise<void>((resolve, reject) => {
      let problem = 'it does not answer'
      const limit = setTimeout(() => reject(new Error(`cannot reach ${where}: ${problem}`)), CONNECT_MS)
      client.on('error', error => {
        problem = error?.message ?? problem
      })
      client.on('connect', refusal => {
        clearTimeout(limit)
        if (refusal == null) resolve()
        else reject(new Error(`${where} does not take our secret`))
      })
      client.connect({ ...server, reconnect: { retryMaxDelay: MOST_PAUSE_MS } })
    })
    return wire
  }

  get isConnected(): boolean {
    return this.#addresses.size > 0
  }

  /** Where far ends reach us over this transport; null: the server has no such address, or is away. */
  addressFor({ transport }: Peer): { host: string; port: number } | null {
    return this.#addresses.get(transport) ?? null
  }

  close(): void {
    if (this.isConnected) this.#client.disconnect()
  }

  /** What the user agent sends. */
  send(bytes: Uint8Array, to: Peer): void {
    const text = readSipText(Buffer.from(bytes).toString('utf8'))
    if (text.start.startsWith('SIP/2.0 ')) this.#respond(text)
    else if (!this.isConnected) queueMicrotask(() => this.#options.failed(to))
    else this.#request(text, to)
  }

  #requested(request: ServerRequest, response: ServerResponse): void {
    // What the server has sent by itself, a BYE for want of an ACK: our own agent comes to the same end.
    if (request.source !== 'network') return
    const from: Peer = {
      transport: transportOf(request.protocol),
      host: request.source_address,
      port: Number(request.source_port),
    }
    const text = this.#incoming(request)
    if (request.method !== 'ACK') this.#asked.set(`${branchOf(text)} ${request.method}`, { request, response })
    if (request.method === 'INVITE') {
      request.on('update', (update, answer) => this.#requested(update, answer))
      request.on('cancel', cancel => this.#options.receive(writeSipText(this.#incoming(cancel)), from))
    }
    this.#options.receive(writeSipText(text), from)
  }

  /** As it would have come to us: with our own tag, and without what the server would have to do for us (PRACK). */
  #incoming(request: Parsed): SipText {
    const text = readSipText(request.raw)
    const callId = fieldOf(text, 'call-id')
    const to = fieldOf(text, 'to')
    const ownTag = this.#ownTags.get(`${callId} ${tagOf(to)}`)
    const fields = text.fields.map(([name, value]): [string, string] =>
      ownTag !== undefined && canonicalName(name) === 'to' ? [name, withTag(value, ownTag)] : [name, value],
    )
    return { ...text, fields: withoutReliable(fields) }
  }

  #respond(text: SipText): void {
    const [, code = '', reason = ''] = /^SIP\/2\.0 (\d{3}) ?(.*)$/.exec(text.start) ?? []
    const method = fieldOf(text, 'cseq').split(/\s+/)[1]
    const key = `${branchOf(text)} ${method}`
    const asked = this.#asked.get(key)
    const status = Number(code)
    // It is answered: this is a retransmission, which is the server's task, as 100 is.
    if (asked === undefined || status === 100) return
    if (status >= 200) this.#asked.delete(key)
    const headers = headersOf(withoutReliable(fieldsBut(text, OF_THE_SERVER)))
    const sent = (error: unknown, response?: Parsed): void => {
      if (error == null && response !== undefined) this.#answered(text, asked, response)
    }
    asked.response.send(status, reason, { headers, ...(text.body === '' ? {} : { body: text.body }) }, sent)
  }

  /** The server says which dialog it is now, and by which tag the far end knows us. */
  #answered(text: SipText, { response }: Asked, sent: Parsed): void {
    const callId = fieldOf(text, 'call-id')
    const [ours, theirs] = [tagOf(fieldOf(text, 'to')), tagOf(fieldOf(text, 'from'))]
    this.#keepTag(callId, ours, tagOf(sent.get('to') ?? ''))
    const dialogId = response.meta?.dialogId
    if (dialogId !== undefined && dialogId !== '') this.#dialogs.set(`${callId} ${ours} ${theirs}`, dialogId)
  }

  #keepTag(callId: string, ours: string, onTheWire: string): void {
    if (onTheWire !== '' && onTheWire !== ours) this.#ownTags.set(`${callId} ${onTheWire}`, ours)
  }

  #request(text: SipText, to: Peer): void {
    const [method = '', uri = ''] = text.start.split(' ')
    if (method === 'ACK') this.#acknowledge(text)
    else if (method === 'CANCEL') this.#cancel(text, to)
    else if (!this.#sent.has(`${branchOf(text)} ${method}`)) this.#ask(text, { method, uri, to })
  }

  #ask(text: SipText, { method, uri, to }: { method: string; uri: string; to: Peer }): void {
    const key = `${branchOf(text)} ${method}`
    const callId = fieldOf(text, 'call-id')
    const sent: Sent = { text, to, isCancelled: false }
    this.#sent.set(key, sent)
    if (method === 'INVITE') this.#invites.set(`${callId} ${parseInt(fieldOf(text, 'cseq'), 10)}`, sent)
    const theirs = tagOf(fieldOf(text, 'to'))
    const dialogId = this.#dialogs.get(`${callId} ${tagOf(fieldOf(text, 'from'))} ${theirs}`)
    if (theirs !== '' && dialogId === undefined) {
      this.#say(sent, '481 Call/Transaction Does Not Exist')
      return
    }
    const body = text.body === '' ? {} : { body: text.body }
    const options: RequestOptions =
      dialogId === undefined
        ? { method, headers: headersOf(withoutReliable(fieldsBut(text, OF_TRANSPORT))), ...body, proxy: uriOf(to) }
        : {
            method,
            headers: headersOf(withoutReliable(fieldsBut(text, OF_A_DIALOG))),
            ...body,
            stackDialogId: dialogId,
          }
    this.#client.request(dialogId === undefined ? uri : IN_ITS_DIALOG, options, (error, request) => {
      if (error != null) {
        this.#sent.delete(key)
        if (error.code === 'ENODIALOG') this.#say(sent, '481 Call/Transaction Does Not Exist')
        else this.#options.failed(to)
        return
      }
      sent.request = request
      this.#keepTag(callId, tagOf(fieldOf(text, 'from')), tagOf(request.get('from') ?? ''))
      request.on('response', (response, ack) => this.#heard(key, sent, response, ack))
      request.on('update', (update, answer) => this.#requested(update, answer))
      if (sent.isCancelled) request.cancel(() => {})
    })
  }

  #heard(key: string, sent: Sent, response: Parsed, ack: NonNullable<Sent['ack']>): void {
    const heard = readSipText(response.raw)
    const status = Number(heard.start.split(' ')[1])
    const callId = fieldOf(sent.text, 'call-id')
    const to = fieldOf(heard, 'to')
    const { stackDialogId } = response
    if (stackDialogId !== undefined && stackDialogId !== '' && tagOf(to) !== '')
      this.#dialogs.set(`${callId} ${tagOf(fieldOf(sent.text, 'from'))} ${tagOf(to)}`, stackDialogId)
    if (status >= 200) this.#sent.delete(key)
    if (status >= 200 && status < 300) sent.ack = ack
    this.#tell(sent, heard.start, [['To', to], ...fieldsBut(heard, OF_THE_QUESTION)], heard.body)
  }

  /** Only a 2xx has an ACK of ours: others are acknowledged by whoever has the transaction (RFC 3261 §17.1.1.3). */
  #acknowledge(text: SipText): void {
    const key = `${fieldOf(text, 'call-id')} ${parseInt(fieldOf(text, 'cseq'), 10)}`
    const invite = this.#invites.get(key)
    if (invite?.ack === undefined) return
    this.#invites.delete(key)
    const headers = headersOf(fieldsBut(text, OF_A_DIALOG))
    invite.ack({ headers, ...(text.body === '' ? {} : { body: text.body }) })
  }

  /** The server takes a CANCEL and says nothing of its answer. */
  #cancel(text: SipText, to: Peer): void {
    const invite = this.#sent.get(`${branchOf(text)} INVITE`)
    if (invite !== undefined && !invite.isCancelled) {
      invite.isCancelled = true
      invite.request?.cancel(() => {})
    }
    this.#say({ text, to, isCancelled: false }, invite === undefined ? '481 Call/Transaction Does Not Exist' : '200 OK')
  }

  /** An answer that no far end has given. */
  #say(sent: Sent, status: string): void {
    queueMicrotask(() => this.#tell(sent, `SIP/2.0 ${status}`, [['To', fieldOf(sent.text, 'to')]], ''))
  }

  #tell({ text, to }: Sent, start: string, fields: [string, string][], body: string): void {
    const own = ['via', 'from', 'call-id', 'cseq'].flatMap(name => fieldsOf(text, name))
    this.#options.receive(writeSipText({ start, fields: [...own, ...fields], body }), to)
  }
}

/** "udp/192.0.2.1:5060,tcp/192.0.2.1:5060": the first of a transport, another than the loopback's where there is one. */
export function readAddresses(list: string): Map<string, { host: string; port: number }> {
  const found = new Map<string, { host: string; port: number }>()
  for (const [, transport = '', host = '', port = ''] of list.matchAll(/(\w+)\/(\[[^\]]+\]|[^:,\s]+):(\d+)/g)) {
    const before = found.get(transport)
    if (before === undefined || isLoopback(before.host))
      found.set(transport, { host: host.replace(/^\[|\]$/g, ''), port: Number(port) })
  }
  return found
}

const isLoopback = (host: string): boolean => host === '::1' || host.startsWith('127.')

const transportOf = (protocol: string): Transport => {
  const name = protocol.toLowerCase()
  if (name === 'tls' || name === 'wss') return 'tls'
  return name === 'tcp' || name === 'ws' ? 'tcp' : 'udp'
}

const uriOf = ({ transport, host, port }: Peer): string =>
  `sip:${host.includes(':') ? `[${host}]` : host}:${port};transport=${transport}`

/** Nobody answers reliably here (RFC 3262): the numbers that PRACK names are the server's own. */
const withoutReliable = (fields: [string, string][]): [string, string][] =>
  fields.flatMap(([name, value]): [string, string][] => {
    const lost = canonicalName(name) === 'supported' ? '100rel' : canonicalName(name) === 'allow' ? 'prack' : null
    const kept = value.split(/\s*,\s*/).filter(word => word.toLowerCase() !== lost)
    if (lost === null) return [[name, value]]
    return kept.length === 0 ? [] : [[name, kept.join(', ')]]
  })
