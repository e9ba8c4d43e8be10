/** A longer sentence is spoken in pieces of at most this length [characters]. */
const MAX_LENGTH = 240
/** Anything shorter, such as `Dr.` or `1.`, is no sentence of its own [characters]. */
const MIN_LENGTH = 6

/** Cuts a text that comes in pieces into sentences, so that the first is spoken while the rest is generated. */
export class SentenceCutter {
  #open = ''

  /** The sentences that are complete with this piece. */
  push(piece: string): string[] {
    this.#open += piece
    const sentences: string[] = []
    for (let cut = cutAt(this.#open); cut > 0; cut = cutAt(this.#open)) {
      const sentence = this.#open.slice(0, cut).trim()
      this.#open = this.#open.slice(cut)
      if (sentence !== '') sentences.push(sentence)
    }
    return sentences
  }

  /** The remaining text at the end; null: none. */
  flush(): string | null {
    const rest = this.#open.trim()
    this.#open = ''
    return rest === '' ? null : rest
  }
}

/** End of the first sentence; 0: it is not complete yet. */
function cutAt(text: string): number {
  // A model may send a megabyte without a space, so only the length of one sentence is searched.
  for (const { index, 0: end } of text.slice(0, MAX_LENGTH).matchAll(/[.!?…]+["')\]]?\s+|\n+/g)) {
    if (text.slice(0, index).trim().length + 1 >= MIN_LENGTH) return index + end.length
  }
  if (text.length <= MAX_LENGTH) return 0
  const part = text.slice(0, MAX_LENGTH)
  const comma = Math.max(part.lastIndexOf(', '), part.lastIndexOf('; '))
  if (comma > MIN_LENGTH) return comma + 2
  const space = part.lastIndexOf(' ')
  return space > MIN_LENGTH ? space + 1 : cutTo(text, MAX_LENGTH).length
}

/** Approximate speed of speech. */
const CHARACTERS_PER_SECOND = 15

/** As much of a line as was heard in this time, in whole words: what the model is told that it has said. */
export function heardPart(text: string, heardMs: number): string {
  const length = Math.floor((heardMs * CHARACTERS_PER_SECOND) / 1000)
  if (length >= text.length) return text
  const end = text.lastIndexOf(' ', length)
  return end <= 0 ? '' : text.slice(0, end)
}

import { cutTo } from '../../../media/protocol.ts'
