import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { HandOver } from '../kernel/thread-priority.ts'
import { FairShares } from '../protocol.ts'
import { SpeechChild, type SpeechExit } from './speech-child.ts'
import { shareOf } from './speech-engines.ts'
import type {
  FromSpeech,
  SpeechConfig,
  SpeechQuestion,
  SpeechReply,
  SpeechRequest,
  SpeechUse,
} from './speech-protocol.ts'

/** Requests of all engine threads that may be open, half of them by one organisation alone; a further one fails at once. */
const MAX_OPEN = 2000
/** Longer than the models take to load on a busy machine; nobody waits longer, whatever hangs [ms]. */
const DEADLINE_MS = 60_000
const SWEEP_MS = 1000
/** Engine threads; by it their numbers become those of the speech process. */
const MAX_PORTS = 1024

interface Open {
  request: SpeechQuestion
  /** Whom it is answered to, and by which number. */
  port: MessagePort
  id: number
  since: number
  /** It was given to another process already, when the first had died of it, or with it. */
  isSecondTry: boolean
}

/**
 * The main thread's end of speech: hands what the engine threads ask to the speech process and its answers back, keeps that process
 * running, logs and counts each use. What was under way when it dies is asked once more.
 */
export class SpeechHost {
  readonly #log: Pick<Logger, 'info' | 'warn'>
  readonly #child: SpeechChild
  readonly #loaded: (engine: string) => void
  readonly #handOver: HandOver
  readonly #open = new Map<number, Open>()
  readonly #shares = new FairShares(MAX_OPEN)
  readonly #uses = { speak: 0, transcribe: 0, failed: 0, characters: 0, seconds: 0, speakMs: 0, transcribeMs: 0 }
  readonly #ports: MessagePort[] = []
  readonly #sweep: NodeJS.Timeout
  #memory = 0
  /** Whoever speaks is understood at once. A provider needs nothing loaded; the voice takes no time to speak of. */
  #isReady: boolean
  #isPrepared = false
  readonly #isRemote: boolean

  /**
   * @param loaded an engine is ready: its name
   * @param handOver how an engine thread is woken
   */
  constructor(
    config: SpeechConfig,
    log: Pick<Logger, 'info' | 'warn'>,
    loaded: (engine: string) => void = () => {},
    handOver: HandOver = send => send(),
  ) {
    this.#log = log
    this.#handOver = handOver
    this.#isRemote = config.stt.url !== null
    this.#isReady = this.#isRemote
    this.#loaded = loaded
    this.#child = new SpeechChild(config, {
      told: message => this.#told(message),
      died: (exit, waitMs) => this.#died(exit, waitMs),
    })
    this.#sweep = setInterval(() => {
      this.#giveUpLate(performance.now())
      this.#child.endSilent(performance.now())
    }, SWEEP_MS).unref()
    if (config.preload) this.#child.start()
  }

  /** Since the start, for the metrics. */
  get counters(): Record<string, number> {
    const { speak, transcribe, failed, characters, seconds, speakMs, transcribeMs } = this.#uses
    return {
      speech_spoken_total: speak,
      speech_understood_total: transcribe,
      speech_failed_total: failed,
      speech_characters_total: characters,
      speech_seconds_total: Math.round(seconds),
      speech_speak_seconds_total: speakMs / 1000,
      speech_transcribe_seconds_total: transcribeMs / 1000,
      speech_restarts_total: this.#child.restarts,
    }
  }

  get gauges(): Record<string, number> {
    return {
      speech_waiting: this.#open.size,
      speech_memory_bytes: this.#memory,
      speech_ready: this.#isReady ? 1 : 0,
    }
  }

  /** Of the speech process; null: it does not run. */
  get pid(): number | null {
    return this.#child.pid
  }

  /** A port for one engine thread, to be handed over to it. */
  port(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    port1.on('message', (request: SpeechRequest) => this.#asked(port1, request))
    this.#ports.push(port1)
    return port2
  }

  #asked(port: MessagePort, request: SpeechRequest): void {
    const id = request.id * MAX_PORTS + this.#ports.indexOf(port)
    if (request.kind !== 'speak' && request.kind !== 'transcribe') {
      if (request.kind === 'prepare') this.#isPrepared = true
      this.#child.send({ ...request, id })
      return
    }
    const open = { request: { ...request, id }, port, id: request.id, since: performance.now(), isSecondTry: false }
    const problem = !this.#shares.mayTake(shareOf(request.owner))
      ? 'too much speech waits'
      : this.#child.send(open.request)
        ? null
        : 'the speech process is being started again'
    if (problem === null) {
      this.#shares.take(shareOf(request.owner))
      this.#open.set(id, open)
    } else {
      // What was appended of it waits for its end no longer.
      this.#child.send({ id, kind: 'drop' })
      this.#handOver(() => port.postMessage({ id: request.id, answer: { error: problem } } satisfies SpeechReply))
    }
  }

  #told(message: FromSpeech): void {
    if (message.kind === 'answer') this.#answer(message.id, message.answer)
    else if (message.kind === 'used') this.#count(message.use, message.id)
    else if (message.kind === 'memory') this.#memory = message.bytes
    else if (message.kind === 'failed')
      this.#log.warn({ engine: message.engine, error: message.error }, 'speech.failed')
    else {
      this.#log.info({ engine: message.engine, tookMs: message.tookMs }, 'speech.loaded')
      if (message.engine === 'moonshine') this.#isReady = true
      this.#loaded(message.engine)
    }
  }

  #answer(id: number, answer: SpeechReply['answer']): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    this.#open.delete(id)
    this.#shares.giveBack(shareOf(open.request.owner))
    // Out of the memory of the whole message, which is not copied along then.
    const own = 'samples' in answer ? { samples: answer.samples.slice() } : answer
    const moved = 'samples' in own ? [own.samples.buffer] : []
    this.#handOver(() => open.port.postMessage({ id: open.id, answer: own } satisfies SpeechReply, moved))
  }

  #died(exit: SpeechExit, waitMs: number): void {
    this.#memory = 0
    this.#isReady = this.#isRemote
    this.#log.warn({ ...exit, waitMs, open: this.#open.size }, 'speech.died')
    if (this.#isPrepared && waitMs === 0) this.#child.send({ id: 0, kind: 'prepare' })
    for (const [id, open] of [...this.#open]) {
      if (waitMs > 0 || open.isSecondTry) this.#answer(id, { error: 'the speech process died' })
      else {
        open.isSecondTry = true
        this.#child.send(open.request)
      }
    }
  }

  #giveUpLate(now: number): void {
    for (const [id, { since }] of this.#open) {
      // In the order in which they were asked.
      if (now - since < DEADLINE_MS) return
      this.#uses.failed++
      this.#answer(id, { error: `no answer within ${DEADLINE_MS} ms` })
    }
  }

  /** The text itself is in no line: it may hold what the caller said. The call is, so that it can be found. */
  #count(use: SpeechUse, id: number | null): void {
    const owner = this.#open.get(id ?? -1)?.request.owner
    const line = { ...(owner === undefined ? {} : { legId: owner.legId, callId: owner.callId }), ...use }
    this.#uses.characters += use.characters
    this.#uses.seconds += use.seconds
    if (use.error === null) {
      this.#uses[use.kind]++
      this.#uses[`${use.kind}Ms`] += use.tookMs
      this.#log.info(line, 'speech.used')
    } else {
      this.#uses.failed++
      this.#log.warn(line, 'speech.failed')
    }
  }

  /** Ends the process; what is open is answered by an error. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#sweep)
    for (const id of [...this.#open.keys()]) this.#answer(id, { error: 'closed' })
    await this.#child.close()
    for (const port of this.#ports) port.close()
  }
}
