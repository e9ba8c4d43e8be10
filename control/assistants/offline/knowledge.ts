import { remembered } from '../../kernel/remembered.ts'
import { stem, tellingWords } from './english.ts'

/** How many passages are cached. */
const MAX_REMEMBERED = 300

/** The kind of answer that a sentence gives. */
export type Kind = 'money' | 'time' | 'duration' | 'place' | 'phone' | 'email' | 'person' | 'distance' | 'number'

/** A sentence of the knowledge base. */
export interface Fact {
  text: string
  /** The heading above it, and the label before a colon at the beginning of its paragraph. */
  heading: string
  /** Number of its paragraph; sentences of one paragraph follow each other. */
  paragraph: number
  words: string[]
  stems: Set<string>
  headingWords: string[]
  kinds: Set<Kind>
}

const NUMBER = String.raw`(?:\d+(?:[.,]\d+)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|forty-five|fifty|sixty|ninety|hundred)`
const KINDS: readonly (readonly [Kind, RegExp])[] = [
  [
    'money',
    new RegExp(
      String.raw`[€$£]\s?\d|${NUMBER}\s(euros?|dollars?|pounds?|cents?|pence|bucks|percent)\b|\bfree\b|\bpay half\b|\d ?%|\bcosts?\b.*${NUMBER}|\bno charge\b`,
      'i',
    ),
  ],
  [
    'time',
    /\b\d{1,2}(:\d\d)? ?([ap]\.?m\b)|\b\d{1,2}:\d\d\b|\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(noon|midnight|closed|hours|daily|weekdays|weekends?|open|opens|morning|evening|day and night|around the clock)\b|\bthird of\b|\buntil\b|\b(before|after|on the day|due)\b/i,
  ],
  [
    'duration',
    new RegExp(
      String.raw`${NUMBER}[- ](to ${NUMBER} )?(working |business )?(minutes?|hours?|days?|weeks?|months?|years?)\b|\b(an? (hour|day|week|month|year)|half an hour|same day|immediately|while you wait|at once|since \d{4})\b`,
      'i',
    ),
  ],
  [
    'place',
    /\b(street|road|avenue|lane|square|drive|floor|corner|behind|next to|opposite|station|located|address|find us|above|under|around the corner|foot|garage|yard|\w+weg|\w+stra(ss|ß)e|on (a|the) \w+|at (the|reception|counter)|in (the|our|your))\b/i,
  ],
  ['phone', /(?:\+|\b|\()\d[\d ()-]{6,}\d\b/],
  ['email', /@/],
  ['person', /\b(Dr|Mr|Mrs|Ms)\.|\b(manager|owner|our hygienist|team|doctor)\b|\b(is|are) [A-Z][a-z]+\b/],
  ['distance', /\b(miles?|kilomet\w+|km|minutes? (on foot|walk|drive)|minute walk)\b/i],
  ['number', new RegExp(String.raw`\b${NUMBER}\b`, 'i')],
]

/** End of a sentence, but not after `Dr.`, `a.m.` or `No.` */
const SENTENCE_END = /(?<=[.!?])(?<!\b(?:Dr|Mr|Mrs|Ms|No|St|Ave|approx|[ap]\.m|e\.g|i\.e)\.)\s+/
const LABEL = /^([\p{Lu}][\p{L}' -]{2,30}):\s/u

let paragraphs = 0

/** The sentences of passages, in their order. */
export const factsOf = (passages: readonly string[]): Fact[] => passages.flatMap(factsOfPassage)

const factsOfPassage = remembered(MAX_REMEMBERED, (passage): Fact[] => {
  const facts: Fact[] = []
  let heading = ''
  for (const block of passage.split(/\n\s*\n|\n(?=[#*-])/)) {
    paragraphs++
    let label = ''
    for (const line of block.split('\n').map(part => part.trim())) {
      if (isHeading(line)) {
        heading = line.replace(/^[#*\s-]+/, '')
        continue
      }
      const text = line.replace(/^[*\s-]+/, '')
      label = LABEL.exec(text)?.[1] ?? label
      for (const sentence of text.split(SENTENCE_END)) {
        if (sentence.trim() !== '') facts.push(factOf(sentence.trim(), `${heading} ${label}`.trim(), paragraphs))
      }
    }
  }
  return facts
})

const isHeading = (line: string): boolean => line.startsWith('#') || (line.length < 60 && /^[^.!?:,;]+$/.test(line))

function factOf(text: string, heading: string, paragraph: number): Fact {
  const words = tellingWords(text)
  const headingWords = tellingWords(heading)
  const kinds = new Set(KINDS.filter(([, pattern]) => pattern.test(text)).map(([kind]) => kind))
  return { text, heading, paragraph, words, stems: new Set(words.map(stem)), headingWords, kinds }
}
