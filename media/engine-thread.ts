import { randomBytes } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { NARROWBAND_HZ } from '../codecs/audio.ts'
import { loadResampler } from '../codecs/resample.ts'
import { loadVoiceDetector } from '../codecs/voice-activity.ts'
import { Clock } from './clock.ts'
import { Engine } from './engine.ts'
import type { EngineConfig, EngineHandlers, FromEngine, ToEngine } from './engine-protocol.ts'
import { PortPool } from './port-pool.ts'
import { Prompts } from './prompts.ts'
import { RtpSocket } from './rtp-socket.ts'
import { SpeechClient } from './speech/speech-client.ts'
import { StreamDialler } from './stream-socket.ts'

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

const handlers: EngineHandlers = {
  'leg.open': request => engine.open(request.legId),
  'leg.open_browser': request => engine.openBrowser(request.legId, request.pipe),
  'leg.connect': request => engine.connect(request.legId, request.media, request.enter),
  'leg.read': request => engine.read(request.legId),
  'leg.close': request => engine.close(request.legId),
  'leg.key': request => engine.signalledKey(request.legId, request.key, request.source),
  'leg.move': request => engine.move(request),
  'leg.update': request => engine.update(request),
  'leg.hold': request => engine.hold(request),
  'leg.play': async request => await engine.play(request),
  'leg.stop_play': request => engine.stopPlay(request.legId),
  'leg.collect': async request => await engine.collect(request),
  'leg.listen': request => engine.listen(request),
  'leg.stop_listen': request => engine.stopListening(request.legId),
  'leg.send_dtmf': request => engine.sendKeys(request),
  'room.play': async request => await engine.playInRoom(request),
  'capture.pause': request => engine.pause(request),
  'capture.resume': request => engine.resume(request.target),
  'stream.start': request => engine.startStream(request),
  'stream.stop': request => engine.stopStream(request.streamId),
  'stream.read': request => ({ streams: engine.readStreams(request.streamIds) }),
  'recording.start': request => engine.startRecording(request),
  'recording.stop': request => engine.stopRecording(request.recordingId),
  'transcript.start': request => engine.startTranscript(request),
  'transcript.stop': request => engine.stopTranscript(request.transcriptId),
  'engine.snapshot': () => engine.snapshot(),
  'engine.stats': () => engine.stats(),
  'engine.close': async () => {
    await engine.shutdown()
    await prompts.close()
    return {}
  },
}

port.on('message', async ({ id, name, body }: ToEngine) => {
  const handler = handlers[name] as (body: unknown) => object | Promise<object>
  post({ type: 'reply', id, body: await handler(body) })
})
