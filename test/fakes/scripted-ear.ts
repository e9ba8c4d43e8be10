import type { Following, Manner, SpeechOwner, SpeechToText, Understood } from '../../media/speech/speech-engines.ts'

/** A recogniser whose results, and when they come, the test decides. */
export class ScriptedEar implements SpeechToText {
  /** The utterances that it was given. */
  readonly heard: Int16Array[] = []
  /** The speaker of each. */
  readonly owners: (SpeechOwner | undefined)[] = []
  /** How each was to be recognised. */
  readonly manners: Manner[] = []
  readonly #waiting: ((answer: Understood | { error: string }) => void)[] = []
  prepared = 0
  /** Whether it gets audio before an utterance has ended. */
  guesses = false
  follows = false
  /** For each utterance that it follows: `+n` for n appended samples, then `end` or `drop`. */
  readonly followed: string[] = []

  understands(language: string | null): boolean {
    return language === null || language.startsWith('en')
  }

  prepare(): void {
    this.prepared++
  }

  transcribe(
    samples: Int16Array<ArrayBuffer>,
    _language?: string | null,
    manner: Manner = 'whole',
    owner?: SpeechOwner,
  ): Promise<Understood | { error: string }> {
    this.owners.push(owner)
    this.manners.push(manner)
    this.heard.push(samples)
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  follow(): Following | null {
    if (!this.follows) return null
    return {
      append: samples => this.followed.push(`+${samples.length}`),
      end: samples => {
        this.followed.push('end')
        return this.transcribe(samples)
      },
      drop: () => this.followed.push('drop'),
    }
  }

  /** Answers all open utterances, so that nobody waits for them. */
  close(): void {
    for (const resolve of this.#waiting.splice(0)) resolve({ error: 'closed' })
  }

  /** Answers the oldest open utterance; null: it fails. */
  async understand(text: string | null): Promise<void> {
    this.#waiting.shift()!(text === null ? { error: 'scripted' } : { text, engine: 'scripted' })
    await new Promise(resolve => setImmediate(resolve))
  }
}
