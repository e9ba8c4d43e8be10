import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../bench/free-port.ts'
import { NARROWBAND_HZ, WIDEBAND_HZ } from '../../../codecs/audio.ts'
import { readWav } from '../../../codecs/wav.ts'
import { childOfTest } from './child.ts'
import { toneFile } from './tone-file.ts'

const HOST = '127.0.0.1'
const POLL_MS = 20
const START_MS = 10_000
/** Time limit for its end, since it waits for answers to its last requests [ms]. */
const STOP_MS = 5000

/** Names of codecs in baresip: with sample rate and channels. */
export type BaresipCodec = 'PCMU' | 'PCMA' | 'G722/16000/1' | 'opus/48000/2' | 'L16/16000/1' | 'L16/8000/1'

export interface BaresipOptions {
  /** The tone that it sends all the time [Hz]. */
  toneHz: number
  codec?: BaresipCodec
  /** Its user name; absent: `baresip`. */
  user?: string
  /** Whether it answers calls by itself. */
  answers?: boolean
  /** SRTP with keys in SDP (SDES), offered besides plain RTP or required; or with keys by DTLS, and RTCP on a port of its own or not. */
  srtp?: keyof typeof ENCRYPTION
  /** Where it registers, and how often. */
  account?: { username: string; password: string; registrar: string; transport: 'udp' | 'tcp'; everyS: number }
}

/** Its names of these, and with what. */
const ENCRYPTION = {
  optional: 'mediaenc=srtp',
  required: 'mediaenc=srtp-mand',
  dtls: 'mediaenc=dtls_srtp',
  'dtls with rtcp-mux': 'mediaenc=dtls_srtp',
}

interface BaresipEvent {
  type: string
  param?: string
  direction?: string
}

const TRIES = 3
const isDump = (file: string): boolean => file.endsWith('-dec.wav')
/** Where the samples of a dump begin. */
const dataFrom = (wav: Buffer): number => wav.indexOf('data', 12, 'latin1') + 8
/** Whether the file has got the length of its samples, which is written last. */
const isComplete = (wav: Buffer): boolean =>
  wav.length > 12 && dataFrom(wav) + wav.readUInt32LE(dataFrom(wav) - 4) === wav.length

/** Debian's baresip without a screen: sends a tone from a file, dumps what it hears, and is controlled over its control port. */
export class Baresip {
  readonly uri: string
  /** What it has reported, in order. */
  readonly events: BaresipEvent[] = []
  readonly #directory: string
  readonly #socket: Socket
  readonly #exited: Promise<unknown>
  readonly #kill: () => void
  readonly #news = new EventEmitter()
  #unread = ''

  private constructor(uri: string, directory: string, socket: Socket, exited: Promise<unknown>, kill: () => void) {
    this.#kill = kill
    this.uri = uri
    this.#directory = directory
    this.#socket = socket
    this.#exited = exited
    socket.setEncoding('utf8')
    socket.on('data', text => this.#read(String(text)))
  }

  /** Starts it; again if one of its ports, of which it uses one more than configured, was taken in the meantime. */
  static async start(options: BaresipOptions): Promise<Baresip> {
    for (let tries = 1; ; tries++) {
      try {
        return await Baresip.#try(options)
      } catch (error) {
        if (tries >= TRIES) throw error
      }
    }
  }

  static async #try(options: BaresipOptions): Promise<Baresip> {
    const directory = mkdtempSync(join(tmpdir(), 'baresip-'))
    const [sipPort, controlPort] = [await freePort(HOST), await freePort(HOST)]
    writeConfig(directory, sipPort, controlPort, options)
    const child = spawn('baresip', ['-f', directory], { stdio: ['ignore', 'pipe', 'pipe'] })
    childOfTest(child)
    let output = ''
    child.stdout.on('data', text => (output += text))
    child.stderr.on('data', text => (output += text))
    const exited = once(child, 'exit')
    const socket = await control(controlPort)
    if (socket === null) throw new Error(`baresip did not start:\n${output}`)
    return new Baresip(`sip:${options.user ?? 'baresip'}@${HOST}:${sipPort}`, directory, socket, exited, () =>
      child.kill('SIGKILL'),
    )
  }

  dial(uri: string): void {
    this.#command('dial', uri)
  }

  /** Asks the other end of its call to call somebody else (REFER). */
  transfer(uri: string): void {
    this.#command('transfer', uri)
  }

  hangup(): void {
    this.#command('hangup')
  }

  /** Presses one key, as an RFC 4733 event. */
  press(key: string): void {
    this.#command('sndcode', key)
  }

  /** Resolves when it has reported an event of this type. */
  async until(type: string): Promise<BaresipEvent> {
    for (;;) {
      const event = this.events.find(one => one.type === type)
      if (event !== undefined) return event
      await once(this.#news, 'event')
    }
  }

  /** What it heard in its call, at its codec's rate; resolves after the call. */
  async heard(): Promise<Int16Array> {
    return (await this.dump()).samples
  }

  /** The same, with the rate. */
  async dump(): Promise<{ samples: Int16Array; rateHz: number }> {
    const file = join(this.#directory, this.#dumpName())
    // It reports the end of a call before it completes the call's file.
    while (!isComplete(readFileSync(file))) await sleep(POLL_MS)
    const wav = readWav(readFileSync(file))
    if ('error' in wav) throw new Error(`baresip's dump: ${wav.error}`)
    return { samples: wav.samples[0]!, rateHz: wav.sampleRateHz }
  }

  /** The same during the call: the file has no length yet, and its samples (those of its first channel) are all that follows. */
  dumpSoFar(): { samples: Int16Array; rateHz: number } {
    const bytes = readFileSync(join(this.#directory, this.#dumpName()))
    const from = dataFrom(bytes)
    const blockBytes = 2 * bytes.readUInt16LE(22)
    const length = Math.floor((bytes.length - from) / blockBytes)
    const samples = Int16Array.from({ length }, (_, i) => bytes.readInt16LE(from + i * blockBytes))
    return { samples, rateHz: bytes.readUInt32LE(24) }
  }

  /** It has heard something. */
  get isDumping(): boolean {
    return readdirSync(this.#directory).some(isDump)
  }

  #dumpName(): string {
    const name = readdirSync(this.#directory).find(isDump)
    if (name === undefined) throw new Error('baresip has dumped no audio')
    return name
  }

  /** Stops it, and removes its dumps. */
  async stop(): Promise<void> {
    this.#command('quit')
    const timer = setTimeout(() => this.#kill(), STOP_MS)
    await this.#exited
    clearTimeout(timer)
    this.#socket.destroy()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #command(command: string, params?: string): void {
    const text = JSON.stringify({ command, params })
    this.#socket.write(`${Buffer.byteLength(text)}:${text},`)
  }

  /** Reads netstrings with JSON: events, and answers to commands. */
  #read(text: string): void {
    this.#unread += text
    for (;;) {
      const colon = this.#unread.indexOf(':')
      const end = colon + 1 + Number(this.#unread.slice(0, colon))
      if (colon < 0 || this.#unread.length <= end) return
      const message = JSON.parse(this.#unread.slice(colon + 1, end)) as BaresipEvent & { event?: boolean }
      this.#unread = this.#unread.slice(end + 1)
      if (message.event !== true) continue
      this.events.push(message)
      this.#news.emit('event')
    }
  }
}

async function control(port: number): Promise<Socket | null> {
  const limit = performance.now() + START_MS
  while (performance.now() < limit) {
    const socket = connect(port, HOST)
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    if (isOpen) return socket
    await sleep(POLL_MS)
  }
  return null
}

/** Writes its configuration. `sndfile` dumps decoded audio; without a player module it plays to no device. */
function writeConfig(directory: string, sipPort: number, controlPort: number, options: BaresipOptions): void {
  const write = (name: string, content: string | Uint8Array): void => writeFileSync(join(directory, name), content)
  const codec = options.codec ?? 'PCMU'
  const rateHz = ['G722/16000/1', 'opus/48000/2', 'L16/16000/1'].includes(codec) ? WIDEBAND_HZ : NARROWBAND_HZ
  write('tone.wav', toneFile(options.toneHz, rateHz))
  write('contacts', '')
  write('current_contact', '\n')
  const mode = options.answers === true ? 'auto' : 'manual'
  const { account } = options
  const identity =
    account === undefined
      ? `<sip:${options.user ?? 'baresip'}@${HOST}:${sipPort}>;regint=0`
      : `<sip:${account.username}@${account.registrar};transport=${account.transport}>;auth_pass=${account.password};regint=${account.everyS}`
  const encryption = options.srtp === undefined ? '' : `;${ENCRYPTION[options.srtp]}`
  write('accounts', `${identity};audio_codecs=${codec};answermode=${mode}${encryption}\n`)
  const lines = [
    `sip_listen ${HOST}:${sipPort}`,
    `net_interface ${HOST}`,
    `audio_source aufile,${join(directory, 'tone.wav')}`,
    'audio_channels 1',
    'ausrc_channels 1',
    'auplay_channels 1',
    `ausrc_srate ${rateHz}`,
    `auplay_srate ${rateHz}`,
    `snd_path ${directory}`,
    `rtcp_mux ${options.srtp === 'dtls with rtcp-mux' ? 'yes' : 'no'}`,
    `ctrl_tcp_listen ${HOST}:${controlPort}`,
    'module_path /usr/lib/baresip/modules',
    ...['g711', 'g722', 'l16', 'opus', 'aufile', 'sndfile', 'srtp', 'dtls_srtp'].map(name => `module ${name}.so`),
    'module_tmp account.so',
    ...['menu', 'ctrl_tcp'].map(name => `module_app ${name}.so`),
  ]
  write('config', `${lines.join('\n')}\n`)
}
