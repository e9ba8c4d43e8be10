import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { loadNoiseSuppressor } from '../../codecs/noise-suppressor.ts'
import { loadResampler } from '../../codecs/resample.ts'
import { loadVoiceDetector } from '../../codecs/voice-activity.ts'
import { clockOriginMs } from '../kernel/clock-origin.ts'
import { comeForwardForAudio } from '../kernel/thread-priority.ts'
import { REHEARSAL_AFTER_MS, randomUint32 } from '../protocol.ts'
import { chooseDatagrams } from '../rtp/datagrams/choose.ts'
import { OwnDescriptors } from '../rtp/datagrams/own-descriptors.ts'
import { PortPool } from '../rtp/port-pool.ts'
import { RtpSocket } from '../rtp/rtp-socket.ts'
import { SpeechClient } from '../speech/speech-client.ts'
import { readPrivateKey } from '../webrtc/certificate.ts'
import { Clock } from './clock.ts'
import { Engine, type EngineOptions } from './engine.ts'
import type { EngineConfig, FromEngine, ToEngine } from './engine-protocol.ts'
import { Prompts } from './prompts.ts'
import { warmUp } from './warm-up.ts'

/** Entry of an engine thread: builds the engine and connects it to the main thread. */
const config = workerData as EngineConfig
const port = parentPort!

/** Messages of one turn of the event loop are sent together, up to a reply: each message by itself would wake the main thread. */
let told: FromEngine[] = []
function post(message: FromEngine): void {
  told.push(message)
  // A reply is sent at once, so that it is handled before later events are.
  if (message.type === 'reply') leave()
  else if (told.length === 1) process.nextTick(leave)
}

function leave(): void {
  if (told.length === 0) return
  const messages = told
  // A list that cannot be sent must not block later messages.
  told = []
  port.postMessage(messages)
}

const ports = new PortPool(config.rtpPorts)
const speech = new SpeechClient(config.speech.port, config.speech.abilities)
const prompts = new Prompts({ sampleRateHz: NARROWBAND_HZ, tts: speech })
const { datagrams, problem } = await chooseDatagrams(config.rtpSockets, new OwnDescriptors(config.descriptors))
const now = (): number => performance.now()
const clock = new Clock(
  (slot, deadline) => {
    datagrams.poll(slot)
    datagrams.sendTogether(() => engine.tick(slot, deadline))
  },
  now,
  config.clockFace,
)
const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

const options: EngineOptions = {
  dataDir: config.dataDir,
  emit: event => post({ type: 'event', event }),
  emitOwn: event => post({ type: 'own', event }),
  cross: message => post({ type: 'cross', message }),
  place: { ...config.place, clockMs: clockOriginMs() },
  over: (kind, id) => post({ type: 'over', kind, id }),
  end: (legId, reason) => post({ type: 'end', legId, reason }),
  quiet: legId => post({ type: 'quiet', legId }),
  fault: (error, legIds) => post({ type: 'fault', error: stackOf(error), legIds }),
  sendKey: (legId, key, durationMs) => post({ type: 'key', legId, key, durationMs }),
  ...(config.tellsReports ? { report: report => post({ type: 'report', report }) } : {}),
  openSocket: host => RtpSocket.open(ports, host, datagrams),
  attend: isOn => datagrams.attend(isOn ? () => clock.turn() : null),
  sendErrors: () => datagrams.sendErrors,
  connections: datagrams.connections,
  userAgent: `tandem/${config.version}`,
  createResampler: await loadResampler(),
  createNoiseSuppressor: await loadNoiseSuppressor(
    readFileSync(fileURLToPath(import.meta.resolve('@sapphi-red/speex-preprocess-wasm/speex.wasm'))),
  ),
  prompts,
  hearing: { createVoiceDetector: await loadVoiceDetector(), stt: speech },
  clock,
  now,
  identity: { certificate: config.certificate.certificate, privateKey: readPrivateKey(config.certificate) },
  random: randomUint32,
}

// Before the thread reports ready, so that the first minute is as good as the tenth.
const warm = config.warmsUp ? await warmUp(options, work => datagrams.sendTogether(work)) : null
await comeForwardForAudio()
const engine = new Engine(options)

post({ type: 'sockets', kind: datagrams.kind, problem })
port.on('message', async ({ id, name, body }: ToEngine) => {
  const reply = await engine.run(name, body as never)
  if (name === 'engine.close') await prompts.close()
  post({ type: 'reply', id, body: reply })
})
await sleep(REHEARSAL_AFTER_MS)
warm?.rehearse().catch(error => post({ type: 'fault', error: stackOf(error), legIds: [] }))
