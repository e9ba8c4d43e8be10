import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Flite } from './flite.ts'
import { Moonshine } from './moonshine.ts'
import { remoteSpeechToText, remoteTextToSpeech } from './remote.ts'
import type { FromSpeechThread, SpeechConfig, SpeechReply, SpeechRequest, ToSpeechThread } from './speech-protocol.ts'
import { SpeechService } from './speech-service.ts'

/** Entry of the thread that all speech of the process goes through; the computing is done by threads of the engines behind it. */
const config = workerData as SpeechConfig
const tell = (message: FromSpeechThread): void => parentPort!.postMessage(message)

const flite = new Flite()
const moonshine = new Moonshine()
const remoteStt = remoteSpeechToText(config.stt)
const service = new SpeechService({
  tts: [...remoteTextToSpeech(config.tts), { name: 'flite', engine: flite }],
  stt: [...remoteStt, { name: 'moonshine', engine: moonshine }],
  used: use => tell({ kind: 'used', use }),
  now: () => performance.now(),
})

async function answer(request: Exclude<SpeechRequest, { kind: 'prepare' }>): Promise<SpeechReply['answer']> {
  return request.kind === 'speak'
    ? service.speak(request.text, request.voice, request.language)
    : service.transcribe(request.samples, request.language)
}

function serve(port: MessagePort): void {
  port.on('message', async (request: SpeechRequest) => {
    if (request.kind === 'prepare') return service.prepare()
    port.postMessage({ id: request.id, answer: await answer(request) } satisfies SpeechReply)
  })
}

async function preload(): Promise<void> {
  const startedAt = performance.now()
  await flite.warmUp()
  tell({ kind: 'loaded', engine: 'flite', tookMs: Math.round(performance.now() - startedAt) })
  const tookMs = await moonshine.warmUp()
  if (typeof tookMs === 'number') tell({ kind: 'loaded', engine: 'moonshine', tookMs })
  else tell({ kind: 'failed', engine: 'moonshine', error: tookMs.error })
}

parentPort!.on('message', async (message: ToSpeechThread) => {
  if (message.kind === 'port') return serve(message.port)
  await Promise.all([flite.close(), moonshine.close()])
  for (const { engine } of remoteStt) engine.close()
  tell({ kind: 'closed' })
})
if (config.preload) void preload()
