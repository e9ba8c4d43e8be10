import { cutTo, type PlaySource } from '../../protocol.ts'

/** What is spoken at one go; longer sentences are cut at a comma, else at a space [characters]. */
const MAX_CHARACTERS = 300
/** A shorter sentence is spoken together with the next: "Yes. …" [characters]. */
const MIN_CHARACTERS = 12

/**
 * After a full stop, question or exclamation mark and the space behind it, but not after a title, an initial or a number; without a space
 * after the marks of scripts that have none.
 */
const SENTENCE_END =
  /(?<=[.!?…؟۔।]["'”’)]{0,3})(?<!\b(?:Mr|Mrs|Ms|Dr|St|No|vs|e\.g|i\.e|[A-Z])\.)\s+|(?<=[。！？｡][」』”’）]{0,3})(?![」』”’）。！？｡])|\n+/u
const PAUSE = /[,;:،؛](?=\s)|[、，；：]/g

/**
 * Cuts a text into pieces that are spoken one after the other, so that the first is heard while the next is made. Joined by
 * spaces they are the text again; a text without words gives none.
 */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  let short = ''
  for (const piece of text.split(SENTENCE_END)) {
    const sentence = `${short} ${piece.replace(/\s+/g, ' ').trim()}`.trim()
    if (sentence.length < MIN_CHARACTERS) short = sentence
    else {
      sentences.push(...cut(sentence))
      short = ''
    }
  }
  return short === '' ? sentences : [...sentences, short]
}

function cut(sentence: string): string[] {
  const pieces: string[] = []
  let rest = sentence
  while (rest.length > MAX_CHARACTERS) {
    const head = rest.slice(0, MAX_CHARACTERS)
    const pause = [...head.matchAll(PAUSE)].at(-1)?.index ?? 0
    const at = pause > MIN_CHARACTERS ? pause + 1 : head.lastIndexOf(' ')
    const length = at > 0 ? at : cutTo(rest, MAX_CHARACTERS).length
    pieces.push(rest.slice(0, length).trim())
    rest = rest.slice(length).trim()
  }
  return rest === '' ? pieces : [...pieces, rest]
}

/** A source as the pieces that are loaded one by one. What was recorded as a whole is spoken as one. */
export const piecesOf = (source: PlaySource): PlaySource[] =>
  source.kind === 'speech' && source.recorded === undefined
    ? sentencesOf(source.text).map(text => ({ ...source, text }))
    : [source]
