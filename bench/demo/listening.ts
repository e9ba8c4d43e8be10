import type { Caller } from './cast.ts'
import type { Show } from './show.ts'
import { type Line, likeness, type Speech } from './voices.ts'

/** `likeness` from which on a line was heard, and below which it was not. */
export const HEARD = 0.9
const UNHEARD = 0.5

const GREETINGS = [
  'Hello, this is Anna. Can the two of you hear me?',
  'Ben is here too. I can hear you well, Anna.',
  'And this is Cleo. I can hear both of you.',
]

/** Each caller says a line in turn; checks who hears it, and who does not. */
export async function greet(callers: readonly Caller[], speech: Speech, show: Show): Promise<Line[]> {
  const lines: Line[] = []
  const heard: Int16Array[][] = []
  for (const [i, caller] of callers.entries()) {
    const from = callers.map(({ call }) => call.heard.length)
    lines.push(await speech.say(caller, GREETINGS[i]!))
    show.step(`${caller.name}: ${GREETINGS[i]}`)
    heard.push(callers.map(({ call }, j) => call.heard.samples(from[j])))
  }
  const matrix = callers.map((_, listener) => lines.map(({ samples }, i) => likeness(samples, heard[i]![listener]!)))
  show.title('Who heard whom: how much of what was said is in what was heard (1: all of it)')
  show.table([
    ['', ...callers.map(({ name }) => `${name}'s line`)],
    ...callers.map(({ name }, i) => [`${name} heard`, ...matrix[i]!.map(part => part.toFixed(2))]),
  ])
  show.line()
  for (const [i, { name }] of callers.entries()) {
    const others = matrix[i]!.filter((_, j) => j !== i)
    show.check(
      others.every(part => part > HEARD),
      `${name} hears the others`,
    )
  }
  const own = Math.max(...callers.map((_, i) => matrix[i]![i]!))
  show.check(own < UNHEARD, 'nobody hears himself', `${own.toFixed(2)} at most`)
  return lines
}
