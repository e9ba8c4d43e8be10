import { PCMA, PCMU } from '../../codecs/g711.ts'
import { speechSpan } from '../hearing/noises.ts'
import { recordings } from '../tones/recordings.ts'
import type { AnsweredCall } from './answers.ts'

const PER_MS = 8
/** Silence behind the recording, in which a person waits and a machine records [ms]. */
const AFTER_MS = 7000

/** Answered calls out of recordings: WAV files in `human/` and `machine/` of a folder, whose last sound is the beep. */
export class RecordedAnswers {
  readonly half = 'recordings'
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async *calls(): AsyncGenerator<AnsweredCall> {
    let number = 0
    for await (const { path, samples } of recordings(this.#folder)) {
      const by = path.split(/[/\\]/)[0]
      if (by !== 'human' && by !== 'machine') continue
      const line = new Int16Array(samples.length + AFTER_MS * PER_MS)
      line.set(samples)
      const { from, to } = speechSpan(samples)
      yield {
        name: 'recorded',
        by,
        group: by,
        text: path,
        line,
        law: number++ % 2 === 0 ? PCMU : PCMA,
        beganMs: from / PER_MS,
        beepEndMs: by === 'human' ? -1 : to / PER_MS,
        isLost: () => false,
      }
    }
    if (number === 0) throw new Error(`--recordings: there is no WAV file in human/ or machine/ of ${this.#folder}`)
  }

  async close(): Promise<void> {}
}
