/** Records to a data directory, encrypted, as fast as the disk accepts it; to be killed at any moment. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Seal } from '../../../media/protocol.ts'
import { channelFile, partialDir, RECORDING_CHUNK_BYTES } from '../../../media/recordings/recording-manifest.ts'
import { RecordingWriter } from '../../../media/recordings/recording-writer.ts'
import { FRAME, voice } from './recorded-voice.ts'

export async function main(): Promise<void> {
  const raw = join(partialDir(process.argv[2]!, 'call_1'), channelFile(0))
  const seal = new Seal(Buffer.alloc(32), RECORDING_CHUNK_BYTES)
  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

  const writer = new RecordingWriter(process.argv[2]!)
  const recorder = writer.open('call_1', message => process.send?.(message), true)
  if ('error' in recorder) throw new Error(recorder.error)
  const sink = recorder.track('leg_a')
  const samples = new Int16Array(FRAME)
  let at = 0
  process.on('disconnect', () => process.exit(0))
  process.send?.('ready')
  for (;;) {
    for (let frame = 0; frame < 50; frame++) {
      for (let i = 0; i < FRAME; i++) samples[i] = voice(at++)
      sink.write('inbound', samples)
      recorder.tick()
    }
    // No faster than the disk: audio that it does not accept in time would be left out.
    while (sizeOf(raw) < seal.offsetOf(at / FRAME / 50 - 1)) await new Promise(resolve => setImmediate(resolve))
  }
}
