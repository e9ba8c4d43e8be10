/** Maximum length of a passage [characters]: a few sentences, enough for an answer. */
const MAX_PASSAGE = 1000

/** Why a document cannot be read. */
type DocumentError = 'not_text' | 'empty'

/** The text of an uploaded document: UTF-8, with or without a byte order mark. */
export function readText(bytes: Uint8Array): { text: string } | { error: DocumentError } {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return { error: 'not_text' }
  }
  if (text.includes('\0')) return { error: 'not_text' }
  return /[\p{L}\p{N}]/u.test(text) ? { text } : { error: 'empty' }
}

/** Cuts a text into passages of whole paragraphs where they fit, else of whole sentences, else of whole words. */
export function passagesOf(text: string): string[] {
  const paragraphs = text.replaceAll('\r\n', '\n').split(/\n[ \t]*\n/)
  const passages: string[] = []
  let open = ''
  const push = (piece: string, glue: string): void => {
    if (open !== '' && open.length + glue.length + piece.length > MAX_PASSAGE) {
      passages.push(open)
      open = ''
    }
    open = open === '' ? piece : open + glue + piece
  }
  for (const paragraph of paragraphs.map(part => part.trim()).filter(part => part !== '')) {
    if (paragraph.length <= MAX_PASSAGE) push(paragraph, '\n\n')
    else for (const piece of sentencesOf(paragraph)) push(piece, ' ')
  }
  return open === '' ? passages : [...passages, open]
}

const sentencesOf = (paragraph: string): string[] =>
  paragraph
    .split(/(?<=[.!?:;؟۔।])\s+|(?<=[。！？；])|\n/)
    .flatMap(sentence => (sentence.length <= MAX_PASSAGE ? [sentence] : wordsOf(sentence)))
    .filter(piece => piece !== '')

/** A word longer than a passage is cut. */
const wordsOf = (sentence: string): string[] =>
  sentence.split(/\s+/).flatMap(word => word.match(new RegExp(`.{1,${MAX_PASSAGE}}`, 'gsu')) ?? [])
