import type { FlowValue } from './graph.ts'

export type FlowVariables = Record<string, FlowValue>

/** Replaces a sensitive value wherever it would appear. */
export const REDACTED = '[redacted]'

/** Variables that every call has. */
export const BUILT_IN = ['call_id', 'caller', 'called'] as const

const PLACE = /\{\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}\}/g
const MAX_FILLED = 10_000

/** A variable's value; null: it has none. Inherited properties such as `constructor` do not count. */
export const variableValue = (variables: FlowVariables, name: string): FlowValue =>
  Object.hasOwn(variables, name) ? (variables[name] ?? null) : null

/** The variables that a script names. */
export const namesIn = (script: string): string[] => [...script.matchAll(PLACE)].map(match => match[1] as string)

/** The script with values in place of `{{variable}}`; sensitive ones redacted when `hidden` names them. */
export const fill = (script: string, variables: FlowVariables, hidden?: ReadonlySet<string>): string =>
  script
    .replace(PLACE, (_, name: string) => (hidden?.has(name) ? REDACTED : String(variableValue(variables, name) ?? '')))
    .slice(0, MAX_FILLED)

/** The variables as they may be shown. */
export const redact = (variables: FlowVariables, hidden: ReadonlySet<string>): FlowVariables =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, hidden.has(name) && value !== null ? REDACTED : value]),
  )
