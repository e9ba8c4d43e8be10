import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../bench/free-port.ts'
import { BrowserBoard } from '../../media/browsers/browser-board.ts'
import { Channel } from '../../media/channel/channel.ts'
import { CommandTable } from '../../media/channel/commands.ts'
import type { EngineThread } from '../../media/engine/engine-client.ts'
import { engineHandlers } from '../../media/engine/engine-handlers.ts'
import type { EngineCommandName, EngineCommands } from '../../media/engine/engine-protocol.ts'
import type { CommandName, Commands, Failure, MediaEvent } from '../../media/protocol.ts'
import { FarEnds } from '../../media/signalling/far-ends.ts'
import { Registrar } from '../../media/signalling/registrar.ts'
import { SipEndpoint } from '../../media/signalling/sip-endpoint.ts'
import { Switchboard } from '../../media/signalling/switchboard.ts'
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

/** An engine, asked as a thread of its own is. */
class LocalThread implements EngineThread {
  /** It does what it is told, and its answers come too late. */
  isSilent = false
  readonly #engine: TestEngine

  constructor(engine: TestEngine) {
    this.#engine = engine
  }

  /** Its rooms are told of before anybody can ask. */
  isOpening(): boolean {
    return false
  }

  async request<N extends EngineCommandName>(
    name: N,
    body: EngineCommands[N]['request'],
  ): Promise<EngineCommands[N]['reply'] | Failure> {
    const { engine } = this.#engine
    const handler = engineHandlers(engine, async () => {})[name] as (request: typeof body) => object
    const reply = await (engine.guard(body, () => handler(body)) as Promise<EngineCommands[N]['reply'] | Failure>)
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
  readonly commands: CommandTable
  /** Those whose sockets are open or were. */
  readonly farEnds: FarEnd[] = []
  #socketsOpen = Promise.resolve()
  readonly #sip: SipEndpoint
  readonly #channel = new Channel('boot-local', (name, body) => this.commands.run(name, body))
  readonly #dir = mkdtempSync(join(tmpdir(), 'tandem-local-'))

  readonly sipPort: number

  private constructor(sipPort: number, given: Given) {
    this.sipPort = sipPort
    const openSocket = async () => {
      await this.#socketsOpen
      const farEnd = new FarEnd('192.0.2.9')
      this.farEnds.push(farEnd)
      return socketOf(farEnd)
    }
    const emit = (event: MediaEvent): void => {
      this.events.push(event)
      this.#channel.emit(event)
    }
    const fault = (error: unknown): void => void this.faults.push(error)
    const fromEngine = (event: MediaEvent): void => {
      this.commands.note(event, this.thread)
      emit(event)
    }
    this.engine = new TestEngine(this.#dir, { openSocket, emit: fromEngine, ...given })
    this.thread = new LocalThread(this.engine)
    const engines = [this.thread]
    const farEnds = new FarEnds({ emit })
    this.switchboard = new Switchboard({ engines, advertisedHost: HOST, maxCalls: MAX_CALLS, farEnds, emit, fault })
    this.#sip = new SipEndpoint({
      host: HOST,
      port: sipPort,
      advertisedHost: HOST,
      allowedNetworks: ['127.0.0.0/8'],
      productName: 'tandem/test',
      optionsStatus: () => ({ status: 200 }),
      onEvent: event => this.switchboard.onSip(event),
    })
    this.switchboard.attach(this.#sip)
    const registrar = new Registrar({ emit })
    const browsers = new BrowserBoard({
      engines,
      emit,
      fault,
      now: () => this.engine.now,
      createResampler: () => {
        throw new Error('no browser of this test resamples')
      },
    })
    this.commands = new CommandTable({
      switchboard: this.switchboard,
      browsers,
      registrar,
      farEnds,
      engines,
      seq: () => this.events.length,
      stats: () => ({ counters: {}, gauges: {} }),
    })
  }

  static async open(given: Given = {}): Promise<LocalMedia> {
    const media = new LocalMedia(await freePort(), given)
    await media.#sip.listen()
    return media
  }

  /** Lets a control process connect, by a socket in this folder. */
  async listen(): Promise<{ path: string }> {
    const path = join(this.#dir, 'media.sock')
    await this.#channel.listen(path)
    return { path }
  }

  /** From now on no socket is opened; what it returns opens those that wait. */
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
  dial(legId: string, phone: Pick<RawSocket, 'port'>): Promise<object> {
    return this.run('leg.dial', {
      legId,
      target: {
        uri: `sip:callee@${HOST}:${phone.port}`,
        from: { uri: 'sip:tandem@192.0.2.1' },
        via: null,
        publicOnly: false,
        credentials: null,
        codecs: ['PCMU'],
      },
      room: room(`call_of_${legId}`),
      affinity: 'org',
      timeoutS: 30,
    })
  }

  answer(legId: string): Promise<object> {
    return this.run('leg.answer', { legId, room: room(`call_of_${legId}`), affinity: 'org', codecs: ['PCMU'] })
  }

  of<N extends MediaEvent['name']>(name: N): Extract<MediaEvent, { name: N }>['body'][] {
    return this.events.flatMap(event => (event.name === name ? [event.body as never] : []))
  }

  /** Nothing of this leg is open any more, on any side. */
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

/** A telephone that says what the test says, over UDP. */
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

  /** How many messages begin with this. */
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

  /** INVITE of ours; `isLate`: without an offer. */
  async call({ isLate = false } = {}): Promise<void> {
    await this.send(request({ ...this.#dialog, method: 'INVITE', ...(isLate ? {} : { body: offer(this.port + 1) }) }))
  }

  /** ACK of the 200, with nothing in it. */
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
