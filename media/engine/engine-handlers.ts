import type { Engine } from './engine.ts'
import type { EngineHandlers } from './engine-protocol.ts'

/** What each command of an engine thread does. `closed`: frees what the engine was given. */
export const engineHandlers = (engine: Engine, closed: () => Promise<void>): EngineHandlers => ({
  'leg.open': request => engine.open(request.legId, request.affinity),
  'leg.open_browser': request => engine.openBrowser(request.legId, request.pipe, request.affinity),
  'leg.connect': request => engine.connect(request.legId, request.media, request.enter),
  'leg.read': request => engine.read(request.legId),
  'leg.close': request => engine.close(request.legId),
  'leg.key': request => engine.signalledKey(request.legId, request.key, request.source, request.durationMs),
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
  'recording.pause': request => engine.pauseRecording(request.recordingId),
  'recording.resume': request => engine.resumeRecording(request.recordingId),
  'recording.stop': request => engine.stopRecording(request.recordingId),
  'transcript.start': request => engine.startTranscript(request),
  'transcript.stop': request => engine.stopTranscript(request.transcriptId),
  'engine.snapshot': () => engine.snapshot(),
  'engine.stats': () => engine.stats(),
  'engine.close': async () => {
    await engine.shutdown()
    await closed()
    return {}
  },
})
