import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../bench/free-port.ts'
import { encodeMessage, MEDIA_FLAGS, MessageReader, PROTOCOL_VERSION, type ToMedia } from '../../media/protocol.ts'
import { OFFLINE_SPEECH } from '../../media/speech/speech-protocol.ts'

const ENTRY = fileURLToPath(new URL('../../dist/media/main.js', import.meta.url))
const HOST = '127.0.0.1'
/** Number of offline speech engines. */
const ENGINES = 2

type Message = Record<string, unknown>

/** One connection to the channel of a media process, as control would open it. */
export class RawControl {
  closed = false
  /** All messages except replies. */
  readonly messages: Message[] = []
  onMessage: (message: Message) => void = () => {}
  readonly #socket: Socket
  readonly #reader = new MessageReader()
  readonly #watchers = new Set<() => void>()
  readonly #asked = new Map<number, (body: Message | null) => void>()
  #nextId = 1

  constructor(path: string) {
    this.#socket = connect(path)
    this.#socket.on('error', () => this.#socket.destroy())
    this.#socket.on('close', () => {
      this.closed = true
      for (const resolve of this.#asked.values()) resolve(null)
      this.#moved()
    })
    this.#socket.on('data', bytes => {
      const result = this.#reader.read(bytes)
      if ('error' in result) throw new Error(`media sent an unreadable message: ${result.error}`)
      for (const message of result.messages) {
        if (message.type === 'reply') this.#asked.get(message.id as number)?.(message.body as Message)
        else this.messages.push(message)
        this.onMessage(message)
      }
      this.#moved()
    })
  }

  write(bytes: Uint8Array): void {
    if (!this.closed) this.#socket.write(bytes)
  }

  send(message: ToMedia): void {
    this.write(encodeMessage(message))
  }

  hello(): void {
    this.send({ type: 'hello', version: PROTOCOL_VERSION, bootId: null, lastSeq: 0 })
  }

  /** Sends any command with any body; resolves with the reply's body, or null if the channel closed first. */
  ask(name: string, body: unknown): Promise<Message | null> {
    const id = this.#nextId++
    this.send({ type: 'request', id, name: name as never, body })
    return new Promise(resolve => {
      if (this.closed) resolve(null)
      else this.#asked.set(id, resolve)
    })
  }

  /** Resolves when `condition` holds; checked whenever something arrives. */
  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve()
    return new Promise(resolve => {
      const watcher = (): void => {
        if (!condition()) return
        this.#watchers.delete(watcher)
        resolve()
      }
      this.#watchers.add(watcher)
    })
  }

  /** Acknowledges every event and answers every call, each into an echo of its own. */
  answerAll(): void {
    this.onMessage = message => {
      if (message.type !== 'event') return
      this.send({ type: 'ack', seq: message.seq as number })
      const event = message.event as { name: string; body: { legId: string } }
      if (event.name === 'leg.incoming') void this.ask('leg.answer', answerOf(event.body.legId))
    }
  }

  close(): void {
    this.#socket.destroy()
  }

  #moved(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

const answerOf = (legId: string): object => ({
  legId,
  affinity: 'one',
  codecs: ['PCMU', 'PCMA'],
  room: { roomId: `call_${legId}`, kind: 'echo', chimes: false, musicWhenAlone: false, maxMembers: 10 },
})

/** A media process without a control process: the test takes that part. */
export class BareMedia {
  readonly sip: { host: string; port: number }
  readonly socketPath: string
  readonly pid: number
  output = ''
  readonly #child: ChildProcess
  readonly #dataDir: string

  private constructor(child: ChildProcess, dataDir: string, sipPort: number) {
    this.#child = child
    this.#dataDir = dataDir
    this.socketPath = join(dataDir, 'media.sock')
    this.sip = { host: HOST, port: sipPort }
    this.pid = child.pid!
    child.stdout!.on('data', text => (this.output += text))
    child.stderr!.on('data', text => (this.output += text))
  }

  static async start(): Promise<BareMedia> {
    const dataDir = mkdtempSync(join(tmpdir(), 'tandem-media-'))
    const sipPort = await freePort(HOST)
    const config = {
      dataDir,
      socketPath: join(dataDir, 'media.sock'),
      sipHosts: [HOST],
      sipPort,
      sipTls: null,
      nonceSecret: 'fuzz',
      node: null,
      stir: { signing: null, anchorsFile: null },
      allowedNetworks: [],
      trustedProxies: [],
      publicUrl: 'http://127.0.0.1:8080',
      publicIps: [],
      dnsServers: [],
      drachtio: null,
      hep: null,
      sipProxies: [],
      rtpPorts: { first: 30_000, last: 31_999 },
      engineThreads: 1,
      maxCalls: 200,
      sessionSeconds: 1800,
      drainSeconds: 1,
      // Models are loaded at the start, so that their memory does not count as growth.
      speech: { ...OFFLINE_SPEECH, preload: true },
      logLevel: 'info',
      version: '0.0.0',
    }
    // It ends by itself when the IPC channel of its parent closes.
    const child = spawn(process.execPath, [...MEDIA_FLAGS, ENTRY], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, TANDEM_MEDIA_CONFIG: JSON.stringify(config) },
    })
    const media = new BareMedia(child, dataDir, sipPort)
    await new Promise<void>((resolve, reject) => {
      child.once('message', () => resolve())
      child.once('exit', code => reject(new Error(`media ended with ${code} at the start: ${media.output}`)))
    })
    while (media.output.split('speech.loaded').length <= ENGINES) await new Promise(later => setTimeout(later, 20))
    return media
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  connect(): RawControl {
    return new RawControl(this.socketPath)
  }

  async stop(): Promise<void> {
    if (this.alive) {
      const exited = new Promise(resolve => this.#child.once('exit', resolve))
      this.#child.kill('SIGKILL')
      await exited
    }
    rmSync(this.#dataDir, { recursive: true, force: true })
  }
}
