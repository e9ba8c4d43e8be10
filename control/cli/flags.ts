import { type Failed, failed } from './terminal.ts'

/** The words of a command: positional ones, and flags. */
export interface Words {
  words: string[]
  /** `--name value` and `--name=value`, in order; without a value: null. */
  flags: [string, string | null][]
}

/** Names that take no value. */
const SWITCHES = ['json', 'help']
const SHORT: Readonly<Record<string, string>> = { '-d': '--data', '-h': '--help' }

export function readFlags(args: readonly string[]): Words | Failed {
  const found: Words = { words: [], flags: [] }
  for (let i = 0; i < args.length; i++) {
    const arg = SHORT[args[i]!] ?? args[i]!
    if (!arg.startsWith('--')) {
      found.words.push(arg)
      continue
    }
    const [, name = '', , value] = /^--([^=]+)(=(.*))?$/s.exec(arg) ?? []
    if (name === '') return failed('"--" has no name: say --name value.')
    if (value !== undefined) found.flags.push([name, value])
    else if (SWITCHES.includes(name)) found.flags.push([name, null])
    else {
      const next = args[++i]
      if (next === undefined || next.startsWith('--')) return failed(`--${name} has no value: say --${name} VALUE.`)
      found.flags.push([name, next])
    }
  }
  return found
}

/** Removes a flag and returns its value; the last one counts. Null: it has no value; undefined: it was not given. */
export function takeFlag(words: Words, name: string): string | null | undefined {
  const value = words.flags.findLast(([one]) => one === name)?.[1]
  words.flags = words.flags.filter(([one]) => one !== name)
  return value
}

/** Unknown flags, as an error that says what to change; null: none. */
export function leftOver({ flags }: Words, known: readonly string[]): Failed | null {
  const [name] = flags[0] ?? []
  const all = known.map(one => `--${one}`).join(', ')
  return name === undefined ? null : failed(`There is no --${name} here; there are ${all}.`)
}
