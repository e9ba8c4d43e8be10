import type { Following, SpeechOwner, SpeechToText } from '../speech-engines.ts'

/** Utterances that are being said to a provider; a further one goes to it as a whole. */
const MAX_OPEN = 1000

interface Open {
  following: Following
  /** Samples that were appended. */
  given: number
}

/**
 * What is being said, by the number that its end will have. An utterance of which anything was missed, as the provider had no room at
 * its beginning or the process was started in the middle of it, is followed no further: it goes to an engine as a whole at its end.
 */
export class Followings {
  readonly #stt: Pick<SpeechToText, 'follow'>
  readonly #open = new Map<number, Open>()

  constructor(stt: Pick<SpeechToText, 'follow'>) {
    this.#stt = stt
  }

  get size(): number {
    return this.#open.size
  }

  /** @param at samples of the utterance before these */
  append(id: number, at: number, samples: Int16Array, language: string | null, owner?: SpeechOwner): void {
    const open = this.#open.get(id) ?? (at === 0 ? this.#begin(id, language, owner) : null)
    if (open === null) return
    if (at !== open.given) {
      this.drop(id)
      return
    }
    open.given += samples.length
    open.following.append(samples)
  }

  #begin(id: number, language: string | null, owner?: SpeechOwner): Open | null {
    const following = this.#open.size < MAX_OPEN ? this.#stt.follow(language, owner) : null
    if (following === null) return null
    const open = { following, given: 0 }
    this.#open.set(id, open)
    return open
  }

  /** Hands over what was followed from its first sample on, to be ended by the caller. */
  take(id: number): Following | undefined {
    const open = this.#open.get(id)
    this.#open.delete(id)
    return open?.following
  }

  drop(id: number): void {
    this.take(id)?.drop()
  }
}
