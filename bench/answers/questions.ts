import { readFileSync } from 'node:fs'

/** A business and its documents. */
export interface KnowledgeBase {
  name: string
  timezone: string
  text: string
}

/** A caller's question, and the right answer. */
export interface Question {
  kb: KnowledgeBase
  /** The time of the call in the time zone of the business, without offset. */
  localTime: string
  /** Earlier lines, oldest first. */
  earlier: string[]
  said: string
  /** What the offline recogniser heard when `said` was spoken with hesitations over a noisy line. */
  heard: string
  /** Words that the answer must contain (`!`: must not), or one of `@dontknow`, `@person`, `@bye`, `@repeat`. */
  right: string[]
  half: 'seen' | 'unseen'
}

/** Divides the questions into halves. It was drawn once, before anything was developed. */
const SEED = 20_260_322

const folder = new URL('./', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8')

/** All questions, in the order of `questions.txt`. */
export function readQuestions(heard: readonly string[] = read('heard.txt').trim().split('\n')): Question[] {
  const questions: Question[] = []
  let kb: KnowledgeBase | null = null
  let now = ''
  for (const line of read('questions.txt').split('\n')) {
    const head = /^== (\w+) (\S+) (\S+)$/.exec(line)
    if (head !== null) {
      const [, name = '', timezone = '', time = ''] = head
      kb = { name, timezone, text: read(`knowledge/${name}.md`) }
      now = time
    } else if (line !== '' && !line.startsWith('#') && kb !== null) {
      questions.push({ ...readLine(line, now), kb, heard: heard[questions.length] ?? '', half: 'seen' })
    }
  }
  const unseen = new Set(shuffled(questions.length).slice(0, questions.length / 2))
  return questions.map((question, at) => ({ ...question, half: unseen.has(at) ? 'unseen' : 'seen' }))
}

function readLine(line: string, now: string): Pick<Question, 'localTime' | 'earlier' | 'said' | 'right'> {
  const [asked = '', right = ''] = line.split(' => ')
  const [, time = now, lines = ''] = /^(?:\[(\S+)\] )?(.*)$/.exec(asked) ?? []
  const said = lines.split(' >> ')
  return {
    localTime: time,
    earlier: said.slice(0, -1),
    said: said.at(-1) ?? '',
    right: right.split(' ; '),
  }
}

/** Fisher–Yates shuffle, with a generator that gives the same numbers on every machine. */
function shuffled(count: number): number[] {
  const order = Array.from({ length: count }, (_, i) => i)
  const random = seeded(SEED)
  for (let i = count - 1; i > 0; i--) {
    const j = random(i + 1)
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}

/** Whole numbers below a bound, the same for the same seed (xorshift). */
export function seeded(seed: number): (below: number) => number {
  let state = seed | 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
