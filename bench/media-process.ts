import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MediaConfig } from '../media/config.ts'
import {
  type CommandName,
  type EventName,
  type Events,
  encodeMessage,
  isFailure,
  MEDIA_FLAGS,
  type MediaEvent,
  MessageReader,
  PROTOCOL_VERSION,
  type Reply,
  type Request,
} from '../media/protocol.ts'
import { OFFLINE_SPEECH } from '../media/speech/speech-protocol.ts'
import { freePort } from './free-port.ts'

const ENTRY = fileURLToPath(new URL('../dist/media/main.js', import.meta.url))
const HOST = '127.0.0.1'

type EventOf<N extends EventName> = { at: string; body: Events[N] }

/** A media process without a control process: the bench takes that part. */
export class MediaProcess {
  readonly sip: { host: string; port: number }
  readonly #child: ChildProcess
  readonly #dataDir: string
  readonly #socket: Socket
  readonly #reader = new MessageReader()
  readonly #asked = new Map<number, (body: object) => void>()
  readonly #waiting: { matches: (event: MediaEvent) => boolean; resolve: (event: MediaEvent) => void }[] = []
  #nextId = 1

  private constructor(child: ChildProcess, config: MediaConfig) {
    this.#child = child
    this.#dataDir = config.dataDir
    this.sip = { host: HOST, port: config.sipPort }
    this.#socket = connect(config.socketPath)
    this.#socket.on('data', bytes => this.#receive(bytes))
    this.#socket.write(encodeMessage({ type: 'hello', version: PROTOCOL_VERSION, bootId: null, lastSeq: 0 }))
  }

  static async start(): Promise<MediaProcess> {
    const dataDir = mkdtempSync(join(tmpdir(), 'tandem-media-'))
    const config: MediaConfig = {
      dataDir,
      socketPath: join(dataDir, 'media.sock'),
      sipHosts: [HOST],
      sipPort: await freePort(HOST),
      sipTls: null,
      nonceSecret: 'bench',
      node: null,
      stir: { signing: null, anchorsFile: null },
      allowedNetworks: ['127.0.0.0/8'],
      wsPort: await freePort(HOST),
      wssPort: null,
      sipWsOrigins: [],
      trustedProxies: [],
      publicUrl: 'http://127.0.0.1:8080',
      publicIps: [],
      dnsServers: [],
      drachtio: null,
      hep: null,
      sipProxies: [],
      rtpPorts: { first: 30_000, last: 31_999 },
      rtpSockets: 'auto',
      warmsUp: true,
      engineThreads: 1,
      maxCalls: 200,
      sessionSeconds: 1800,
      drainSeconds: 1,
      speech: { ...OFFLINE_SPEECH, preload: true },
      logLevel: 'warn',
      version: '0.0.0',
    }
    // It ends by itself when the IPC channel of its parent closes.
    const child = spawn(process.execPath, [...MEDIA_FLAGS, ENTRY], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, TANDEM_MEDIA_CONFIG: JSON.stringify(config) },
    })
    await once(child, 'message')
    return new MediaProcess(child, config)
  }

  /** Sends a command; throws if media answers with a failure. */
  async ask<N extends CommandName>(name: N, body: Request<N>): Promise<Reply<N>> {
    const id = this.#nextId++
    this.#socket.write(encodeMessage({ type: 'request', id, name, body }))
    const reply = await new Promise<object>(resolve => this.#asked.set(id, resolve))
    if (isFailure(reply)) throw new Error(`${name}: ${reply.message}`)
    return reply as Reply<N>
  }

  /** Resolves with the next event of this name whose body fits. */
  next<N extends EventName>(name: N, fits: (body: Events[N]) => boolean = () => true): Promise<EventOf<N>> {
    return new Promise(resolve => {
      this.#waiting.push({
        matches: event => event.name === name && fits(event.body as Events[N]),
        resolve: event => resolve(event as unknown as EventOf<N>),
      })
    })
  }

  #receive(bytes: Uint8Array): void {
    const result = this.#reader.read(Buffer.from(bytes))
    if ('error' in result) throw new Error(result.error)
    for (const message of result.messages) {
      if (message.type === 'reply') this.#asked.get(message.id as number)?.(message.body as object)
      if (message.type !== 'event') continue
      this.#socket.write(encodeMessage({ type: 'ack', seq: message.seq as number }))
      const event = message.event as MediaEvent
      const at = this.#waiting.findIndex(({ matches }) => matches(event))
      if (at >= 0) this.#waiting.splice(at, 1)[0]!.resolve(event)
    }
  }

  async stop(): Promise<void> {
    this.#socket.destroy()
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
    rmSync(this.#dataDir, { recursive: true, force: true })
  }
}
