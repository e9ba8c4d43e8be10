/** Numbers in the Prometheus text format ("Exposition formats"); names in camel case become snake case. */

import { helpOf } from './help.ts'

type Numbers = Readonly<Record<string, number>>

const snake = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

const headOf = (name: string, type: string): string => `# HELP ${name} ${helpOf(name)}\n# TYPE ${name} ${type}\n`

const lines = (type: 'counter' | 'gauge', prefix: string, suffix: string, values: Numbers): string =>
  Object.entries(values)
    .map(([name, value]) => [`${prefix}_${snake(name)}${suffix}`, value] as const)
    .filter(([name, value]) => /^[a-z_][a-z0-9_]*(\{thread="\d+"\})?$/.test(name) && Number.isFinite(value))
    .map(([name, value], at, all) => {
      const family = name.replace(/\{.*/, '')
      const head = all[at - 1]?.[0].startsWith(`${family}{`) ? '' : headOf(family, type)
      return `${head}${name} ${value}\n`
    })
    .join('')

export const counterLines = (prefix: string, values: Numbers): string => lines('counter', prefix, '_total', values)

/** Counters whose names are complete. */
export const namedCounterLines = (prefix: string, values: Numbers): string => lines('counter', prefix, '', values)

export const gaugeLines = (prefix: string, values: Numbers): string => lines('gauge', prefix, '', values)

/** A histogram of sizes, by upper bound. Sizes above the last bound are only in `count`. */
export interface Sizes {
  bounds: readonly number[]
  /** Up to the bound and above the one before it. */
  counts: readonly number[]
  sum: number
  count: number
}

export function histogramLines(name: string, { bounds, counts, sum, count }: Sizes): string {
  let below = 0
  const buckets = bounds.map((bound, n) => {
    below += counts[n] ?? 0
    return `${name}_bucket{le="${bound}"} ${below}\n`
  })
  return `${headOf(name, 'histogram')}${buckets.join('')}${name}_bucket{le="+Inf"} ${count}\n${name}_sum ${sum}\n${name}_count ${count}\n`
}
