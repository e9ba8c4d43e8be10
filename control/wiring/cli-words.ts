import { parseArgs } from 'node:util'

/** `tandem key new`: its arguments. */
export interface NewKey {
  /** An ID or a name; null: the only organisation. */
  organisation: string | null
  mode: 'live' | 'test'
  name: string
}

export const KEY_USAGE = 'tandem key new [ORGANISATION] [--test] [--name NAME]'
const MAX_NAME = 200

/** Parses the words after `tandem key`; null: they are invalid. */
export function readKeyWords(words: string[]): NewKey | null {
  try {
    const { values, positionals } = parseArgs({
      args: words,
      options: { test: { type: 'boolean' }, name: { type: 'string' } },
      allowPositionals: true,
    })
    const [verb, organisation = null, ...more] = positionals
    const name = values.name ?? 'Made by tandem key new'
    if (verb !== 'new' || more.length > 0 || name.length > MAX_NAME) return null
    return { organisation, mode: values.test === true ? 'test' : 'live', name }
  } catch {
    return null
  }
}
