import type { Frame } from '../../../codecs/audio.ts'
import type { Sink, Track } from '../../../media/rooms/sink.ts'

/** Measures how loud a leg or room is: a sink. In a card-payment pause it is not called. */
export class Meter implements Sink {
  readonly onPause = 'nothing'
  frames = 0
  /** The largest sample so far. */
  peak = 0

  write(track: Track, frame: Frame): void {
    if (track !== 'inbound') return
    this.frames++
    for (let i = 0; i < frame.length; i++) if (frame[i]! > this.peak) this.peak = frame[i]!
  }

  close(): void {}
}
