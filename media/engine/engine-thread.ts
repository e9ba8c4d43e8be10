import { randomBytes } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { loadResampler } from '../../codecs/resample.ts'
import { loadVoiceDetector } from '../../codecs/voice-activity.ts'
import { PortPool } from '../rtp/port-pool.ts'
import { RtpSocket } from '../rtp/rtp-socket.ts'
import { SpeechClient } from '../speech/speech-client.ts'
import { StreamDialler } from '../streams/stream-socket.ts'
import { Clock } from './clock.ts'
import { Engine } from './engine.ts'
import { engineHandlers } from './engine-handlers.ts'
import type { EngineConfig, FromEngine, ToEngine } from './engine-protocol.ts'
import { Prompts } from './prompts.ts'

/** Entry of an engine thread: builds the engine and joins it to the main thread. */
const config = workerData as EngineConfig
const port = parentPort!
const post = (message: FromEngine): void => port.postMessage(message)

const ports = new PortPool(config.rtpPorts)
const speech = new SpeechClient(config.speech.port, config.speech.abilities)
const prompts = new Prompts({ sampleRateHz: NARROWBAND_HZ, tts: speech })
const now = (): number => performance.now()
const clock = new Clock((slot, deadline) => engine.tick(slot, deadline), now)
const engine: Engine = new Engine({
  dataDir: config.dataDir,
  emit: event => post({ type: 'event', event }),
  end: (legId, reason) => post({ type: 'end', legId, reason }),
  fault: (error, legIds) => post({ type: 'fault', error: stackOf(error), legIds }),
  sendKey: (legId, key, durationMs) => post({ type: 'key', legId, key, durationMs }),
  openSocket: () => RtpSocket.open(ports, config.host),
  dialler: new StreamDialler({
    userAgent: `tandem/${config.version}`,
    createResampler: await loadResampler(),
  }),
  prompts,
  hearing: { createVoiceDetector: await loadVoiceDetector(), stt: speech },
  clock,
  now,
  random: () => randomBytes(4).readUInt32BE(),
})

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

const handlers = engineHandlers(engine, () => prompts.close())

port.on('message', async ({ id, name, body }: ToEngine) => {
  const handler = handlers[name] as (body: unknown) => object | Promise<object>
  post({ type: 'reply', id, body: await engine.guard(body as object, () => handler(body)) })
})
