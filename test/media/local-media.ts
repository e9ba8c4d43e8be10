import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../bench/free-port.ts'
import { BrowserBoard } from '../../media/browsers/browser-board.ts'
import { Channel } from '../../media/channel/channel.ts'
import { CommandTable } from '../../media/channel/commands.ts'
import type { EngineThread } from '../../media/engine/engine-client.ts'
import type { EngineCommandName, EngineCommands } from '../../media/engine/engine-protocol.ts'
import { Threads } from '../../media/engine/threads/threads.ts'
import { OwnAddresses } from '../../media/kernel/own-addresses.ts'
import type { CommandName, Commands, DialTarget, Failure, MediaEvent } from '../../media/protocol.ts'
import { SipEndpoint } from '../../media/signalling/endpoint/sip-endpoint.ts'
import { FarEnds } from '../../media/signalling/far-ends.ts'
import { Names } from '../../media/signalling/names.ts'
import { Phones } from '../../media/signalling/phones.ts'
import { Registrar } from '../../media/signalling/registrar.ts'
import { Switchboard, type SwitchboardOptions } from '../../media/signalling/switchboard.ts'
import { TraceDesk } from '../../media/signalling/trace-desk.ts'
import { NO_TEXT_TO_SPEECH } from '../../media/speech/speech-engines.ts'
import { Tracer } from '../../media/tracing/tracer.ts'
import { FarEnd, type Given, socketOf, TestEngine } from '../fakes/engine.ts'
import { offer, RawSocket, request } from '../fuzz/raw-caller.ts'

const HOST = '127.0.0.1'
export const MAX_CALLS = 10
const room = (roomId: string) => ({
  roomId,
  kind: 'call' as const,
  chimes: false,
  musicWhenAlone: false,
  maxMembers: 8,
})

/** An engine that gets commands as an engine thread does. */
class LocalThread implements EngineThread {
  /** It carries out commands, but its replies come too late. */
  isSilent = false
  /** The commands so far. */
  readonly asked: EngineCommandName[] = []
  readonly #engine: TestEngine
  #holds: { from: EngineCommandName; until: Promise<void>; isReached: boolean } | null = null

  constructor(engine: TestEngine) {
    this.#engine = engine
  }

  /** Holds back the next command of this name, and all after it. @returns a function that passes them on, in order */
  hold(from: EngineCommandName): () => void {
    let go = (): void => {}
    const until = new Promise<void>(resolve => {
      go = resolve
    })
    this.#holds = { from, until, isReached: false }
    return () => go()
  }

  async request<N extends EngineCommandName>(
    name: N,
    body: EngineCommands[N]['request'],
  ): Promise<EngineCommands[N]['reply'] | Failure> {
    this.asked.push(name)
    if (this.#holds?.from === name) this.#holds.isReached = true
    if (this.#holds?.isReached) await this.#holds.until
    const reply = await this.#engine.engine.run(name, body)
    return this.isSilent ? { failure: 'unanswered', message: `${name}: too late` } : reply
  }
}

/** The media process's own parts on one thread, on a virtual clock: a real SIP socket, and audio in memory. */
export class LocalMedia {
  readonly events: MediaEvent[] = []
  readonly faults: unknown[] = []
  readonly engine: TestEngine
  readonly thread: LocalThread
  readonly switchboard: Switchboard
  readonly tracer = new Tracer(null)
  readonly commands: CommandTable
  /** All far ends whose sockets are or were open. */
  readonly farEnds: FarEnd[] = []
  #socketsOpen = Promise.resolve()
  readonly #sip: SipEndpoint
  readonly #channel = new Channel('boot-local', (name, body) => this.commands.run(name, body))
  readonly #dir = mkdtempSync(join(tmpdir(), 'tandem-local-'))

  readonly sipPort: number

  private constructor(sipPort: number, given: Given, more: Partial<SwitchboardOptions>) {
    const { addresses = new OwnAddresses([HOST], []) } = more
    this.sipPort = sipPort
    const openSocket = async () => {
      await this.#socketsOpen
      const farEnd = new FarEnd('192.0.2.9', () => this.engine.now)
      this.farEnds.push(farEnd)
      return socketOf(farEnd)
    }
    const emit = (event: MediaEvent): void => {
      this.events.push(event)
      this.#channel.emit(event)
    }
    const fault = (error: unknown): void => void this.faults.push(error)
    const fromEngine = (event: MediaEvent): void => {
      threads.note(event, 0)
      emit(event)
    }
    const over = (kind: string, id: string): void => this.commands.over(kind, id)
    const quiet = (legId: string): void => this.switchboard.checkPresence(legId)
    this.engine = new TestEngine(this.#dir, { openSocket, emit: fromEngine, over, quiet, ...given })
    this.thread = new LocalThread(this.engine)
    const threads = new Threads([this.thread], () => this.engine.now)
    const farEnds = new FarEnds({ emit })
    const { trace } = this.tracer
    const parts = { threads, addresses, maxCalls: MAX_CALLS, farEnds, trace, emit, fault }
    this.switchboard = new Switchboard({ ...parts, ...more })
    this.#sip = new SipEndpoint({
      addresses,
      port: sipPort,
      names: new Names(),
      allowedNetworks: ['127.0.0.0/8'],
      productName: 'tandem/test',
      optionsStatus: () => ({ status: 200 }),
      inviteDoor: invite => this.switchboard.atTheDoor(invite),
      onEvent: event => this.switchboard.onSip(event),
      onMessage: (...message) => this.tracer.sip(...message),
    })
    this.switchboard.attach(this.#sip)
    const registrar = new Registrar({ emit })
    const phones = new Phones({ emit })
    phones.attach(this.#sip)
    const browsers = new BrowserBoard({
      threads,
      emit,
      fault,
      now: () => this.engine.now,
      createResampler: () => {
        throw new Error('no browser of this test resamples')
      },
    })
    this.commands = new CommandTable({
      ...(given.sinks !== undefined && { sinks: given.sinks }),
      switchboard: this.switchboard,
      browsers,
      registrar,
      phones,
      farEnds,
      traces: new TraceDesk({ trace, lines: this.switchboard.lines }),
      threads,
      seq: () => this.events.length,
      stats: () => ({ counters: {}, gauges: {}, histograms: {} }),
      speech: NO_TEXT_TO_SPEECH,
    })
  }

  static async open(given: Given = {}, more: Partial<SwitchboardOptions> = {}): Promise<LocalMedia> {
    const media = new LocalMedia(await freePort(), given, more)
    await media.#sip.listen()
    return media
  }

  /** Lets a control process connect. @returns the path of the socket */
  async listen(): Promise<{ path: string }> {
    const path = join(this.#dir, 'media.sock')
    await this.#channel.listen(path)
    return { path }
  }

  /** Opens no sockets from now on. @returns a function that opens those that wait */
  holdSockets(): () => void {
    let open = (): void => {}
    this.#socketsOpen = new Promise<void>(resolve => {
      open = resolve
    })
    return () => open()
  }

  run<N extends CommandName>(name: N, body: Commands[N]['request']): Promise<Commands[N]['reply'] | Failure> {
    return this.commands.run(name, body) as Promise<Commands[N]['reply'] | Failure>
  }

  /** Calls a telephone. */
  dial(
    legId: string,
    phone: Pick<RawSocket, 'port'>,
    more: Partial<DialTarget> = {},
    callerLegId?: string,
  ): Promise<object> {
    return this.dialOver(legId, [phone], more, callerLegId)
  }

  /** Calls the first of these phones, and the next one if that fails. */
  dialOver(
    legId: string,
    phones: readonly Pick<RawSocket, 'port'>[],
    more: Partial<DialTarget> = {},
    callerLegId?: string,
  ): Promise<object> {
    const [first, ...others] = phones
    const hosts = phones.map(({ port }) => ({ host: HOST, port, transport: 'udp' as const }))
    return this.run('leg.dial', {
      legId,
      target: {
        uri: `sip:callee@${HOST}:${first!.port}`,
        from: { uri: 'sip:tandem@192.0.2.1' },
        hosts: others.length === 0 ? [] : hosts,
        publicOnly: false,
        credentials: null,
        codecs: ['PCMU'],
        ...more,
      },
      room: room(`call_of_${legId}`),
      affinity: 'org',
      ...(callerLegId === undefined ? {} : { callerLegId }),
      timeoutS: 30,
    })
  }

  answer(legId: string): Promise<object> {
    return this.run('leg.answer', { legId, room: room(`call_of_${legId}`), affinity: 'org', codecs: ['PCMU'] })
  }

  of<N extends MediaEvent['name']>(name: N): Extract<MediaEvent, { name: N }>['body'][] {
    return this.events.flatMap(event => (event.name === name ? [event.body as never] : []))
  }

  /** Whether no leg is left, and all its sockets are closed. */
  get isIdle(): boolean {
    return this.switchboard.lines.size === 0 && this.farEnds.every(farEnd => farEnd.closed)
  }

  async close(): Promise<void> {
    this.switchboard.hangupAll('media_failed')
    await this.engine.until(() => this.switchboard.lines.size === 0)
    this.#sip.close()
    this.#channel.close()
    await this.engine.close()
    rmSync(this.#dir, { recursive: true })
  }
}

interface Response {
  port?: number
  /** Its SDP; absent: a common one. */
  body?: string
  headers?: string[]
  /** URI of its Contact; absent: its own address. */
  contact?: string
  tag?: string
}

/** A telephone over UDP that sends what the test says. */
export class RawPhone {
  readonly got: string[] = []
  #socket!: RawSocket
  readonly #media: LocalMedia

  private constructor(media: LocalMedia) {
    this.#media = media
  }

  static async open(media: LocalMedia): Promise<RawPhone> {
    const phone = new RawPhone(media)
    phone.#socket = await RawSocket.open(bytes => phone.got.push(bytes.toString('latin1')))
    return phone
  }

  get port(): number {
    return this.#socket.port
  }

  /** Number of messages that begin with this. */
  count(start: string): number {
    return this.got.filter(text => text.startsWith(start)).length
  }

  /** Waits for a message that begins with this. */
  async expect(start: string): Promise<string> {
    await this.#media.engine.until(() => this.count(start) > 0)
    return this.got.find(text => text.startsWith(start))!
  }

  async send(text: string): Promise<void> {
    await this.#socket.send(Buffer.from(text, 'latin1'), { host: HOST, port: this.#media.sipPort })
  }

  /** Sends an INVITE; `isLate`: without an offer. */
  async call({
    isLate = false,
    headers = [] as string[],
    maxForwards = 70,
    body = offer(this.port + 1),
  } = {}): Promise<void> {
    const said = isLate ? {} : { body }
    await this.send(request({ ...this.#dialog, method: 'INVITE', headers, maxForwards, ...said }))
  }

  /** Sends a request within the dialog of that INVITE. */
  async inside(method: string, cseq: number, headers: string[] = [], body?: string): Promise<void> {
    const [answered] = this.got.filter(text => /^SIP\/2\.0 (18|2)/.test(text))
    const toTag = /\r\nTo: [^\r]*tag=([^\r;]+)/i.exec(answered ?? '')?.[1] ?? ''
    const branch = `${this.#dialog.branch}-${cseq}`
    await this.send(
      request({ ...this.#dialog, method, branch, cseq, toTag, headers, ...(body === undefined ? {} : { body }) }),
    )
  }

  async cancel(): Promise<void> {
    await this.send(request({ ...this.#dialog, method: 'CANCEL' }))
  }

  /** Responds to the last received INVITE; `port`: the audio port in its SDP. */
  async respond(
    status: number,
    { port, headers = [] as string[], tag = 'far', body: own, contact: named }: Response = {},
  ): Promise<void> {
    const invite = this.got.filter(text => text.startsWith('INVITE')).at(-1) ?? ''
    const copied = ['Via', 'From', 'Call-ID', 'CSeq'].map(name =>
      new RegExp(`^${name}: .*$`, 'm').exec(invite)?.[0].trim(),
    )
    const called = /^To: .*$/m.exec(invite)?.[0].trim() ?? ''
    const to = called.includes(';tag=') ? called : `${called};tag=${tag}`
    const body = own ?? (port === undefined ? '' : offer(port))
    const type = body === '' ? [] : ['Content-Type: application/sdp']
    const contact = `Contact: <${named ?? `sip:callee@${HOST}:${this.port}`}>`
    const head = [`SIP/2.0 ${status} X`, ...copied, to, contact, ...headers, ...type, `Content-Length: ${body.length}`]
    await this.send([...head, '', body].join('\r\n'))
  }

  /** Responds to the last request of a kind other than INVITE. */
  async respondTo(method: string, status: number): Promise<void> {
    const request = this.got.filter(text => text.startsWith(method)).at(-1) ?? ''
    const copied = ['Via', 'From', 'To', 'Call-ID', 'CSeq'].map(name =>
      new RegExp(`^${name}: .*$`, 'm').exec(request)?.[0].trim(),
    )
    await this.send([`SIP/2.0 ${status} X`, ...copied, 'Content-Length: 0', '', ''].join('\r\n'))
  }

  /** Acknowledges the 200, without a body. */
  async acknowledge(): Promise<void> {
    const toTag = /\r\nTo: [^\r]*tag=([^\r;]+)/i.exec(await this.expect('SIP/2.0 200'))?.[1] ?? ''
    await this.send(request({ ...this.#dialog, method: 'ACK', toTag }))
  }

  get #dialog() {
    const { port } = this
    const identity = { callId: `call-${port}`, branch: `z9hG4bK-${port}`, fromTag: `tag-${port}` }
    return { ...identity, user: '1000', host: HOST, port, serverPort: this.#media.sipPort }
  }

  close(): void {
    this.#socket.close()
  }
}
