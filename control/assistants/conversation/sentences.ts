import { cutTo } from '../../../media/protocol.ts'

/** A longer sentence is spoken in pieces of at most this length [characters]. */
const MAX_LENGTH = 240
/** Anything shorter, such as `Dr.` or `1.`, is no sentence of its own [characters]. */
const MIN_LENGTH = 6

/** With the space behind it. Scripts without spaces have marks of their own, which only a quotation or another mark follows. */
const END = /[.!?…؟۔।]+["')\]]?\s+|[。！？｡]+[」』”’）]*(?=[^」』”’）。！？｡])|\n+/g
const PAUSE = /[,;،؛]\s|[、，；]/g

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
  for (const { index, 0: end } of text.slice(0, MAX_LENGTH).matchAll(END)) {
    if (text.slice(0, index).trim().length + 1 >= MIN_LENGTH) return index + end.length
  }
  if (text.length <= MAX_LENGTH) return 0
  const part = text.slice(0, MAX_LENGTH)
  const pause = [...part.matchAll(PAUSE)].at(-1)
  if (pause !== undefined && pause.index > MIN_LENGTH) return pause.index + pause[0].length
  const space = part.lastIndexOf(' ')
  return space > MIN_LENGTH ? space + 1 : cutTo(text, MAX_LENGTH).length
}

/** Approximate speed of speech. */
const LETTERS_PER_SECOND = 15
/** Each is a syllable or more, and takes as long as two letters. */
const SYLLABLE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** As much of a line as was heard in this time, in whole words: what the model is told that it has said. */
export function heardPart(text: string, heardMs: number): string {
  let left = (heardMs * LETTERS_PER_SECOND) / 1000
  for (const { segment, index } of segmenter.segment(text)) {
    left -= segment.length + (segment.match(SYLLABLE)?.length ?? 0)
    if (left < 0) return text.slice(0, index).trimEnd()
  }
  return text
}
