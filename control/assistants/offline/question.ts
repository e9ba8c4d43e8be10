import { isStopWord, phrased, tellingWords } from './english.ts'
import type { Kind } from './knowledge.ts'

/** One question of what a caller says. */
export interface Part {
  /** In lower case, without punctuation and hesitation. */
  plain: string
  /** The words that give the topic of the question. */
  words: string[]
  /** Those of `words` that were said before the question itself: `my flight lands late, can I …`. */
  remark: ReadonlySet<string>
  /** The kind of answer that is asked for; null: any. */
  wants: Kind | null
}

/** Maximum number of words, since each is compared with each word of the documents. */
const MAX_WORDS = 12

const FILLERS =
  /\b(um+|uh+|erm?|ah+|hmm+|you know|i mean|i was wondering( if| whether)?|i just wanted to (know|ask)|i wanted to (know|ask)|i d like to know|i would like to know|(can|could|would) you (please )?tell me|(please )?tell me|do you know|i have a question|quick question|if you don t mind|excuse me|yeah hi|by the way|for like|like for|kind of|sort of|just|actually|basically|please)\b/g
const POLITE_BEFORE =
  /^((hello|hi|hey|yes|yeah|so|okay|ok|oh|well|sorry|right|alright|all right|and|but|good (morning|afternoon|evening|day)|there|you guys|thanks|thank you) )+(?=\S)/
const POLITE_AFTER = / (thanks|thank you|thank you very much|then|bye|hanks|hank|thence|please|though|right)$/
const STARTS = '(?:what|when|where|how|who|which|why|do|does|is|are|can|could|may|will|would|until when|since when)'

/** How questions ask for each kind of answer; the first match counts. */
const WANTS: readonly (readonly [RegExp, Kind])[] = [
  [
    /\b(phone|telephone|fax|mobile) number\b|\bwhat (is|s) (the|your) number\b|\bthe number of\b|\bnumber (to|can i|for)\b|\b(who|where) (can|do|should|could) i (call|phone|ring)\b|\bphone you\b/,
    'phone',
  ],
  [/\be ?mail( address)?\b.*\b(what|your|the)\b|\b(what|your)\b.*\be ?mail( address)?\b(?!.*\banswer)/, 'email'],
  [
    /\bhow (much|expensive)\b(?!.*\b(time|longer|luggage|notice)\b)|\b(cost|costs|price|prices|fee|charge|charges) (me|of|for|is|per|to|what)\b|\bwhat (does|do|would|will|is|s)\b.*\b(cost|price|fee|charge)\b|\bwhat would (that|it) be\b|\bis there a\b.*\b(fee|charge)\b|\bwhat (do|will|would) i (have to )?pay\b|\bcosts?$/,
    'money',
  ],
  [
    /\bhow (long|soon|quick|quickly|fast|often|frequently)\b|\bhow many (minutes|hours|days|weeks|months|years)\b/,
    'duration',
  ],
  [/\bsince when\b/, 'duration'],
  [/\bhow far\b/, 'distance'],
  [
    /\b(when|what time|until when|how late|how early|what (are )?(your |the )?(opening )?hours|what day|the latest|(opening|business|office) hours)\b/,
    'time',
  ],
  [
    /^(and )?where\b|\bwhere (is|are|exactly|can|do|s|abouts)\b|\bwhat (is|s) (the|your) address\b|\bwhich floor\b|\byour address\b|\bhow do i (get|find)\b|\blocated\b|\bdirections\b/,
    'place',
  ],
  [/^what (is|are|s) .*\b(called|names?)\b|^who\b|\bwho (is|does|can|s|do)\b/, 'person'],
  [/\bhow (many|old|big|large|much)\b/, 'number'],
]

/** Words that only say what kind of answer is asked for. */
const MARKERS: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  money: [
    'much',
    'cost',
    'costs',
    'price',
    'prices',
    'expensive',
    'charge',
    'charges',
    'fee',
    'fees',
    'pay',
    'money',
    'rates',
  ],
  phone: ['number', 'phone', 'telephone', 'call', 'reach'],
  email: ['email', 'mail', 'address'],
  duration: ['quickly', 'soon', 'fast', 'quick', 'take', 'takes', 'time'],
  time: ['time', 'late', 'early', 'until', 'latest', 'day'],
  place: ['find', 'located', 'location', 'address', 'situated', 'directions'],
  person: ['responsible', 'called', 'name', 'names'],
  distance: ['away'],
  number: ['many', 'much'],
}

const clean = (text: string): string => {
  let said = ` ${text} `.replace(FILLERS, ' ').replace(/ +/g, ' ').trim()
  // A repeated phrase was a false start: `do you do you deliver`.
  said = said.replace(/\b(\w+(?: \w+){0,2}) \1\b/g, '$1')
  for (let before = ''; before !== said; ) {
    before = said
    said = said.replace(POLITE_BEFORE, '').replace(POLITE_AFTER, '')
  }
  return said
}

/** The questions in a text, in order; a remark belongs to the question after it. */
export function partsOf(said: string): Part[] {
  const pieces = said
    .split(/[.?!;]+(?=\s|$)/)
    .map(piece => clean(phrased(piece)))
    .flatMap(piece => piece.split(new RegExp(String.raw` (?:and|also|and also|plus|oh and) (?=(?:also )?${STARTS}\b)`)))
    .map(piece => clean(piece))
    .filter(piece => piece !== '')
  const parts: Part[] = []
  let remark = ''
  for (const [at, piece] of pieces.entries()) {
    const whole = `${remark} ${piece}`.trim()
    if (at < pieces.length - 1 && !isQuestion(piece)) {
      remark = whole
      continue
    }
    remark = ''
    const part = partOf(whole)
    // `What's that? Thanks.`: no topic of its own.
    if (part.words.length > 0 || part.wants !== null || parts.length === 0) parts.push(part)
  }
  return parts
}

const isQuestion = (piece: string): boolean => new RegExp(String.raw`\b${STARTS}\b`).test(piece)

function partOf(plain: string): Part {
  const wants = WANTS.find(([pattern]) => pattern.test(plain))?.[1] ?? null
  const markers = wants === null ? [] : (MARKERS[wants] ?? [])
  const words = tellingWords(plain).filter(word => !markers.includes(word) && !isStopWord(word))
  return { plain, words: [...new Set(words)].slice(0, MAX_WORDS), remark: remarkOf(plain, words), wants }
}

/** The words before the last beginning of a question; none if the question has no words of its own. */
function remarkOf(plain: string, words: readonly string[]): ReadonlySet<string> {
  const begins = plain.search(
    new RegExp(String.raw`(?<=^(?:i|my|we|our|there|the|it)\b.* )${STARTS} (?:i|you|we|it|the|that|they|there)\b`),
  )
  if (begins < 0) return new Set()
  const own = tellingWords(plain.slice(begins))
  const before = words.filter(word => !own.includes(word))
  return new Set(before.length === words.length ? [] : before)
}
