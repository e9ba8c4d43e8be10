import { numbersAsDigits } from './digits.ts'

/** The result of a question. `honest`: the assistant says that it does not know, though the documents have the answer. */
export type Verdict = 'right' | 'wrong' | 'honest'

export interface Answer {
  text: string
  /** Names of the tools that were called. */
  calls: string[]
  /** The assistant's line before. */
  previous: string
}

/** Maximum length of an answer, so that half a document does not pass for one [words]. */
const MAX_WORDS = 70
const UNKNOWING =
  /\b(do not know|don t know|not sure|did not (quite )?(catch|understand)|cannot tell|nobody can take)\b/

/** Judges an answer by the labels of the question (`questions.txt`). No answer is half right. */
export function judge(right: readonly string[], { text, calls, previous }: Answer): Verdict {
  const said = plain(text)
  const isUnknowing = UNKNOWING.test(said)
  const gap: Verdict = isUnknowing ? 'honest' : 'wrong'
  const [only = ''] = right
  if (only === '@person') return calls.some(name => name.startsWith('transfer_to_')) ? 'right' : gap
  if (only === '@bye') return calls.includes('end_call') ? 'right' : gap
  if (calls.length > 0) return 'wrong'
  if (only === '@repeat') return said.includes(plain(previous)) && previous !== '' ? 'right' : gap
  if (only === '@dontknow') return isUnknowing ? 'right' : 'wrong'
  if (said.split(' ').length > MAX_WORDS) return 'wrong'
  const wanted = right.filter(part => !part.startsWith('!'))
  const unwanted = right.filter(part => part.startsWith('!'))
  if (unwanted.some(part => holds(said, part.slice(1)))) return 'wrong'
  return wanted.every(part => holds(said, part)) ? 'right' : gap
}

function holds(said: string, part: string): boolean {
  return part.split('|#').length === 1 && !part.startsWith('#')
    ? new RegExp(`\\b(${part.replaceAll('@dontknow', UNKNOWING.source)})\\b`).test(said)
    : said.replace(/\D/g, '').includes(part.slice(1))
}

const plain = (text: string): string =>
  numbersAsDigits(
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, ' ')
      .replace(/\b([ap]) m\b/g, '$1m')
      .trim(),
  )
    .replace(/(\d)(am|pm|st|nd|rd|th)\b/g, '$1 $2')
    .replace(/\b(since|in) (1[89]|20) (\d\d)\b/g, '$1 $2$3')
