import { AsyncLocalStorage } from 'node:async_hooks'
import { workInBackground } from './background.ts'
import { Flite } from './flite.ts'
import { Followings } from './hearing/followings.ts'
import { Moonshine } from './moonshine/moonshine.ts'
import { remoteSpeechToText, remoteTextToSpeech } from './remote/remote.ts'
import type {
  FromSpeech,
  SpeechConfig,
  SpeechQuestion,
  SpeechReply,
  SpeechRequest,
  ToSpeech,
} from './speech-protocol.ts'
import { SpeechService } from './speech-service.ts'

/** How often it looks at its memory [ms]. */
const MEMORY_EVERY_MS = 10_000
/**
 * WebAssembly gives no memory back. A process that holds more than this with nothing to do ends, and a new one takes its place; with
 * both models loaded it holds some 600 MB, and after the longest utterance some 900 [bytes].
 */
const MAX_IDLE_BYTES = 1.5 * 1024 ** 3

/** What a process does for as long as it lives. */
function serve(config: SpeechConfig): (request: SpeechRequest) => void {
  const flite = new Flite()
  const moonshine = new Moonshine()
  const service = new SpeechService({
    tts: [...remoteTextToSpeech(config.tts), { name: 'flite', engine: flite }],
    stt: [...remoteSpeechToText(config.stt), { name: 'moonshine', engine: moonshine }],
    used: use => tell({ kind: 'used', id: asked.getStore() ?? null, use }),
    now: () => performance.now(),
  })
  const followings = new Followings(service)
  /** The number of the request that is being answered. */
  const asked = new AsyncLocalStorage<number>()
  let open = 0

  // What came over the channel is a view of memory that holds the whole message: an engine gets samples of its own.
  async function answer(question: SpeechQuestion): Promise<SpeechReply['answer']> {
    if (question.kind === 'speak') {
      const { text, voice, language, owner, speed } = question
      return service.speak(text, voice, language, owner, speed)
    }
    const { id, samples, language, manner, owner } = question
    return followings.take(id)?.end(samples.slice()) ?? service.transcribe(samples.slice(), language, manner, owner)
  }

  async function preload(): Promise<void> {
    const startedAt = performance.now()
    await flite.warmUp()
    tell({ kind: 'loaded', engine: 'flite', tookMs: Math.round(performance.now() - startedAt) })
    await loadEar()
  }

  let isEarAsked = false
  /** Tells of it once, whoever wants it first. */
  async function loadEar(): Promise<void> {
    if (isEarAsked) return
    isEarAsked = true
    const tookMs = await moonshine.warmUp()
    if (typeof tookMs === 'number') tell({ kind: 'loaded', engine: 'moonshine', tookMs })
    else tell({ kind: 'failed', engine: 'moonshine', error: tookMs.error })
  }

  setInterval(() => {
    const bytes = process.memoryUsage.rss()
    tell({ kind: 'memory', bytes })
    if (open === 0 && followings.size === 0 && bytes > MAX_IDLE_BYTES) process.exit(0)
  }, MEMORY_EVERY_MS)
  if (config.preload) void preload()

  return async request => {
    const { id, kind } = request
    if (kind === 'prepare') {
      service.prepare()
      if (config.stt.url === null) void loadEar()
    } else if (kind === 'append') followings.append(id, request.at, request.samples, request.language, request.owner)
    else if (kind === 'drop') followings.drop(id)
    else {
      open++
      tell({ kind: 'answer', id, answer: await asked.run(id, () => answer(request)) })
      open--
    }
  }
}

const tell = (message: FromSpeech): void => {
  // The other end is gone: so is this one, at once.
  process.send?.(message, undefined, undefined, () => {})
}

/** Entry of the process that all speech goes through: what it breaks by, it breaks without a call. */
workInBackground()
let handle: ((request: SpeechRequest) => void) | null = null
process.on('message', (message: ToSpeech) => {
  if (message.kind === 'configure') handle = serve(message.config)
  else handle?.(message)
})
// It is needed for as long as its media process has calls, and ends with it.
process.on('disconnect', () => process.exit(0))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
