import { randomBytes, randomUUID } from 'node:crypto'
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/**
 * A drachtio server (https://drachtio.org/docs, "drachtio-server"): SIP over UDP on one side, and on the other the connection of an application, in the
 * protocol of drachtio-srf's `wire-protocol.js` and `drachtio-agent.js`: `LENGTH#ID|authenticate|…`, `route|…`, `sip|TRANSACTION|DIALOG`. Like the real one, it
 * owns the transactions and the dialogs' tags. It makes Via, CSeq and a missing Max-Forwards, answers an INVITE with 100 and a CANCEL with 200 and 487, and
 * acknowledges final responses other than 2xx. Where an application may choose a From tag, it takes its own instead, which finds out an application that
 * relies on its choice. It loses and repeats no messages; `test/interop/sessions/lossy` does.
 */
export class DrachtioFake {
  readonly secret = randomBytes(6).toString('hex')
  /** Methods that applications have asked for. */
  readonly routes = new Set<string>()
  #appPort = 0
  #sipPort = 0
  readonly #sip = createSocket('udp4')
  readonly #apps = createServer(socket => this.#joined(socket))
  #app: Socket | null = null
  /** Transactions that the network has begun, by branch and method, and by their number. */
  readonly #served = new Map<string, Served>()
  /** Transactions that the application has begun, by branch. */
  readonly #asked = new Map<string, Asked>()
  readonly #legs = new Map<string, Leg>()
  #cseq = 1000

  static async listen(): Promise<DrachtioFake> {
    const server = new DrachtioFake()
    server.#sip.on('message', (bytes, from) => server.#received(bytes.toString('utf8'), from))
    server.#sip.bind(0, '127.0.0.1')
    await once(server.#sip, 'listening')
    server.#sipPort = (server.#sip.address() as AddressInfo).port
    server.#apps.listen(0, '127.0.0.1')
    await once(server.#apps, 'listening')
    server.#appPort = (server.#apps.address() as AddressInfo).port
    return server
  }

  /** The value of `TANDEM_DRACHTIO_URL`. */
  get url(): string {
    return `tcp://:${this.secret}@127.0.0.1:${this.#appPort}`
  }

  get sip(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.#sipPort }
  }

  /** Breaks the connection to the application. */
  cut(): void {
    this.#app?.destroy()
  }

  close(): void {
    this.cut()
    this.#apps.close()
    this.#sip.close()
  }

  #joined(socket: Socket): void {
    let waiting = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('close', () => {
      if (this.#app === socket) this.#app = null
    })
    socket.on('data', data => {
      waiting = Buffer.concat([waiting, data])
      for (;;) {
        const hash = waiting.indexOf('#')
        const length = Number(waiting.toString('utf8', 0, Math.max(0, hash)))
        if (hash < 1 || waiting.length < hash + 1 + length) return
        this.#commanded(socket, waiting.toString('utf8', hash + 1, hash + 1 + length))
        waiting = waiting.subarray(hash + 1 + length)
      }
    })
  }

  #tell(socket: Socket | null, words: string): void {
    const line = `${randomUUID()}|${words}`
    socket?.write(`${Buffer.byteLength(line)}#${line}`)
  }

  #commanded(socket: Socket, text: string): void {
    const end = text.indexOf('\r\n')
    const [id = '', command, ...words] = (end < 0 ? text : text.slice(0, end)).split('|')
    const answer = (...tokens: string[]): void => this.#tell(socket, ['response', id, ...tokens].join('|'))
    if (command === 'authenticate') {
      if (words[0] !== this.secret) {
        answer('NOK', 'incorrect secret')
        return
      }
      this.#app = socket
      answer('OK', `udp/127.0.0.1:${this.#sipPort}`, 'v0.9.0')
    } else if (command === 'route') {
      this.routes.add(words[0]!.toUpperCase())
      answer('OK')
    } else if (command === 'ping') answer('OK')
    else if (command === 'sip') this.#sent(text.slice(end + 2), words, answer)
    else answer('NOK', `no command ${command}`)
  }

  /** Handles a message of the application: a response to a transaction, or a request. */
  #sent(
    text: string,
    [transaction = '', dialog = '', proxy = '']: string[],
    answer: (...tokens: string[]) => void,
  ): void {
    const message = read(text)
    const told = (sent: string, to: Place, ids: [string, string]): void =>
      answer('OK', 'application', String(sent.length), 'udp', to.host, String(to.port), now(), ...ids, `\r\n${sent}`)
    if (message.start.startsWith('SIP/2.0')) {
      const served = this.#served.get(transaction)
      if (served === undefined || served.isOver) {
        answer('NOK', 'unable to find transaction')
        return
      }
      const sent = this.#respond(served, message)
      told(sent, served.from, [transaction, served.dialog])
      return
    }
    const [method = '', uri = ''] = message.start.split(' ')
    if (method === 'CANCEL') {
      const asked = [...this.#asked.values()].find(one => one.transaction === transaction)
      if (asked === undefined) {
        answer('NOK', 'unable to find transaction')
        return
      }
      const sent = write(`CANCEL ${asked.uri} SIP/2.0`, [...asked.head.map(forMethod('CANCEL')), ...message.fields], '')
      this.#transmit(sent, asked.to)
      told(sent, asked.to, [transaction, ''])
      return
    }
    const leg = this.#legs.get(dialog)
    if (dialog !== '' && leg === undefined) {
      answer('NOK', 'unable to find dialog')
      return
    }
    const branch = `z9hG4bK${randomBytes(8).toString('hex')}`
    const head: Field[] = [['Via', `SIP/2.0/UDP 127.0.0.1:${this.#sipPort};rport;branch=${branch}`]]
    const target = leg?.target ?? uri
    if (leg === undefined) {
      const from = `${value(message, 'from').replace(/;tag=[^;]+/, '')};tag=fake${randomBytes(4).toString('hex')}`
      head.push(['From', from], ['To', value(message, 'to')], ['Call-ID', value(message, 'call-id')])
      head.push(['CSeq', `${++this.#cseq} ${method}`])
    } else {
      head.push(['From', leg.local], ['To', leg.remote], ['Call-ID', leg.callId])
      head.push(['CSeq', `${method === 'ACK' ? leg.invite : ++leg.cseq} ${method}`])
      if (method === 'INVITE') leg.invite = leg.cseq
      for (const route of leg.routes) head.push(['Route', route])
    }
    const rest = message.fields.filter(([name]) => !SERVERS.has(name.toLowerCase()))
    const to = placeOf(leg === undefined ? proxy || uri : (leg.routes[0] ?? target))
    const isCounted = rest.some(([name]) => name.toLowerCase() === 'max-forwards')
    const hops: Field[] = isCounted ? [] : [['Max-Forwards', '70']]
    const sent = write(`${method} ${target} SIP/2.0`, [...head, ...hops, ...rest], message.body)
    const asked: Asked = { transaction: randomUUID(), method, uri: target, head, to, dialog }
    if (method !== 'ACK') this.#asked.set(branch, asked)
    told(sent, to, [asked.transaction, dialog])
    this.#transmit(sent, to)
  }

  #respond(served: Served, { start, fields, body }: Message): string {
    const status = Number(start.split(' ')[1])
    const { request } = served
    const tag = /;tag=([^;]+)/.exec(value({ fields }, 'to'))?.[1] ?? served.tag
    served.tag = tag
    const to = value(request, 'to')
    const local = /;tag=/.test(to) ? to : `${to};tag=${tag}`
    const head: Field[] = [
      ...request.fields.filter(([name]) => name.toLowerCase() === 'via'),
      ...request.fields.filter(([name]) => name.toLowerCase() === 'record-route'),
      ['From', value(request, 'from')],
      ['To', local],
      ['Call-ID', value(request, 'call-id')],
      ['CSeq', value(request, 'cseq')],
    ]
    if (served.dialog === '' && status > 100 && status < 300 && /^(INVITE|SUBSCRIBE|REFER) /.test(request.start)) {
      served.dialog = randomUUID()
      this.#legs.set(served.dialog, {
        ...{ callId: value(request, 'call-id'), local, remote: value(request, 'from'), cseq: ++this.#cseq, invite: 0 },
        target: uriIn(value(request, 'contact')),
        routes: request.fields
          .filter(([name]) => name.toLowerCase() === 'record-route')
          .flatMap(([, routes]) => routes.split(/,\s*/)),
      })
    }
    const text = write(start, [...head, ...fields.filter(([name]) => !SERVERS.has(name.toLowerCase()))], body)
    served.last = text
    if (status >= 200) served.isOver = true
    this.#transmit(text, served.from)
    return text
  }

  #received(text: string, { address, port }: RemoteInfo): void {
    const from = { host: address, port }
    const message = read(text)
    if (message.start.startsWith('SIP/2.0')) this.#heard(message, text, from)
    else this.#requested(message, text, from)
  }

  #requested(request: Message, text: string, from: Place): void {
    const [method = ''] = request.start.split(' ')
    const branch = /;branch=([^;]+)/.exec(value(request, 'via'))?.[1] ?? ''
    const key = `${branch} ${method}`
    const before = this.#served.get(key)
    if (before !== undefined) {
      if (before.last !== '') this.#transmit(before.last, from)
      return
    }
    const tag = /;tag=([^;]+)/.exec(value(request, 'to'))?.[1] ?? ''
    const callId = value(request, 'call-id')
    const [dialog = ''] =
      [...this.#legs].find(([, leg]) => leg.callId === callId && tag !== '' && leg.local.includes(tag)) ?? []
    const served: Served = {
      transaction: randomUUID(),
      request,
      from,
      dialog,
      tag: randomBytes(5).toString('hex'),
      last: '',
      isOver: false,
    }
    const invite = this.#served.get(`${branch} INVITE`)
    if (method === 'ACK') {
      // It acknowledges a response other than 2xx: the transaction ends here.
      if (invite !== undefined) return
    } else if (method === 'CANCEL') {
      const status = invite === undefined ? '481 Call/Transaction Does Not Exist' : '200 OK'
      this.#respond(served, { start: `SIP/2.0 ${status}`, fields: [], body: '' })
      if (invite === undefined || invite.isOver) return
      this.#respond(invite, { start: 'SIP/2.0 487 Request Terminated', fields: [], body: '' })
    } else {
      this.#served.set(key, served)
      this.#served.set(served.transaction, served)
      if (method === 'INVITE') this.#respond(served, { start: 'SIP/2.0 100 Trying', fields: [], body: '' })
    }
    if (this.#app === null) {
      if (method !== 'ACK' && method !== 'CANCEL')
        this.#respond(served, { start: 'SIP/2.0 503 Service Unavailable', fields: [], body: '' })
      return
    }
    this.#pass(text, from, [served.transaction, dialog])
  }

  #heard(response: Message, text: string, from: Place): void {
    const branch = /;branch=([^;]+)/.exec(value(response, 'via'))?.[1] ?? ''
    const asked = this.#asked.get(branch)
    const [number = '', method] = value(response, 'cseq').split(' ')
    // The application gets no answer to a CANCEL.
    if (asked === undefined || method === 'CANCEL') return
    const status = Number(response.start.split(' ')[1])
    const to = value(response, 'to')
    if (method === 'INVITE' && status >= 300) {
      const head = asked.head.map(forMethod('ACK')).map(([name, own]): Field => [name, name === 'To' ? to : own])
      this.#transmit(write(`ACK ${asked.uri} SIP/2.0`, head, ''), asked.to)
    }
    if (status >= 200 && method !== 'INVITE') this.#asked.delete(branch)
    let { dialog } = asked
    if (dialog === '' && /;tag=/.test(to) && /INVITE|SUBSCRIBE/.test(method!) && status > 100 && status < 300) {
      const before = [...this.#legs].find(([, leg]) => leg.remote === to)
      dialog = before?.[0] ?? randomUUID()
      this.#legs.set(dialog, {
        ...{ callId: value(response, 'call-id'), local: value(response, 'from'), remote: to },
        ...{ cseq: before?.[1].cseq ?? Number(number), invite: Number(number) },
        target: uriIn(value(response, 'contact')) || asked.uri,
        routes: response.fields
          .filter(([name]) => name.toLowerCase() === 'record-route')
          .flatMap(([, routes]) => routes.split(/,\s*/))
          .reverse(),
      })
    }
    this.#pass(text, from, [asked.transaction, dialog])
  }

  #pass(text: string, { host, port }: Place, ids: [string, string]): void {
    const words = ['sip', 'network', text.length, 'udp', host, port, now(), ...ids, '127.0.0.1', this.#sipPort]
    this.#tell(this.#app, `${words.join('|')}|\r\n${text}`)
  }

  #transmit(text: string, { host, port }: Place): void {
    this.#sip.send(text, port, host)
  }
}

type Field = [name: string, value: string]

interface Message {
  start: string
  fields: Field[]
  body: string
}

interface Place {
  host: string
  port: number
}

interface Served {
  transaction: string
  request: Message
  from: Place
  dialog: string
  tag: string
  last: string
  isOver: boolean
}

interface Asked {
  transaction: string
  method: string
  uri: string
  head: Field[]
  to: Place
  dialog: string
}

interface Leg {
  callId: string
  local: string
  remote: string
  target: string
  routes: string[]
  cseq: number
  /** The number of its last INVITE of ours. */
  invite: number
}

/** Headers that the server writes, not the application. */
const SERVERS = new Set(['via', 'from', 'to', 'call-id', 'cseq', 'record-route', 'content-length'])

const COMPACT: Record<string, string> = {
  v: 'Via',
  f: 'From',
  t: 'To',
  i: 'Call-ID',
  m: 'Contact',
  l: 'Content-Length',
}

function read(text: string): Message {
  const end = text.indexOf('\r\n\r\n')
  const [start = '', ...lines] = text.slice(0, end < 0 ? text.length : end).split('\r\n')
  const fields = lines
    .filter(line => line.includes(':'))
    .map((line): Field => {
      const name = line.slice(0, line.indexOf(':')).trim()
      return [COMPACT[name.toLowerCase()] ?? name, line.slice(line.indexOf(':') + 1).trim()]
    })
  return { start, fields, body: end < 0 ? '' : text.slice(end + 4) }
}

const write = (start: string, fields: Field[], body: string): string =>
  [
    start,
    ...fields.map(([name, own]) => `${named(name)}: ${own}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')

/** The header's name as the server writes it, however the application wrote it. */
const named = (name: string): string =>
  name.toLowerCase() === 'call-id' ? 'Call-ID' : name.replaceAll(/(^|-)[a-z]/g, letter => letter.toUpperCase())

const value = ({ fields }: Pick<Message, 'fields'>, name: string): string =>
  fields.find(([own]) => own.toLowerCase() === name)?.[1] ?? ''

const forMethod =
  (method: string) =>
  ([name, own]: Field): Field => [name, name === 'CSeq' ? `${own.split(' ')[0]} ${method}` : own]

const uriIn = (contact: string): string => /<([^>]+)>/.exec(contact)?.[1] ?? contact.split(';')[0]!

function placeOf(uri: string): Place {
  const [, host = '127.0.0.1', port = '5060'] = /sips?:(?:[^@>]*@)?([^:;>]+)(?::(\d+))?/.exec(uri) ?? []
  return { host, port: Number(port) }
}

const now = (): string => new Date().toISOString()
