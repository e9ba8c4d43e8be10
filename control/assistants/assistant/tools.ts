import { createHash } from 'node:crypto'
import type { FlowValue } from '../../flows/engine/graph.ts'
import type { ChatTool } from '../../models/model.ts'
import { BUILT_IN_TOOLS, type BuiltInKind } from '../../tools/built-in.ts'
import { ACTION_TIMEOUT_MS } from '../../tools/http-action.ts'
import { inputProblem, objectSchema } from '../../tools/input.ts'
import type { HttpSettings } from '../../tools/schema.ts'
import type { SharedTool } from '../../tools/store.ts'
import { type HttpUse, type ToolParts, type UseResult, useHttp } from '../../tools/use-http.ts'
import type { LiveSettings } from '../assistant-settings.ts'
import type { AssistantTool, HandOver } from '../schema.ts'
import { END_CALL, PRESS_KEYS, SEARCH_KNOWLEDGE, TAKE_PAYMENT, TRANSFER_PREFIX } from './tool-names.ts'

/** What the model may call: ending the call, handing it over, and the assistant's own tools. */
export function toolsOf(settings: LiveSettings): ChatTool[] {
  const { hand_overs: handOvers, shared } = settings
  return [
    functionOf(END_CALL, shared),
    ...queuesFirst(handOvers).map(({ name, description }) => ({
      name: transferName(name),
      description: `Gives the call to ${description === '' ? name : description}.`,
      parameters: BUILT_IN_TOOLS.transfer.parameters,
    })),
    ...ownTools(settings),
    ...shared.filter(({ kind }) => kind === PRESS_KEYS).map(asFunction),
    ...shared.filter(({ kind }) => kind === TAKE_PAYMENT).map(asPayment),
  ]
}

/** Queues come first, because the first target is the default, and a queue rings whoever is free. */
const queuesFirst = (handOvers: readonly HandOver[]): HandOver[] =>
  handOvers.toSorted((a, b) => Number(b.target.type === 'queue') - Number(a.target.type === 'queue'))

/** A built-in tool for the model, with the description of a shared tool of that kind if there is one. */
export const functionOf = (kind: BuiltInKind, shared: readonly SharedTool[]): ChatTool => {
  const own = shared.find(tool => tool.kind === kind)
  return own === undefined ? { name: kind, ...BUILT_IN_TOOLS[kind] } : asFunction(own)
}

const asFunction = ({ name, definition: { description, parameters } }: SharedTool): ChatTool => ({
  name,
  description,
  parameters: objectSchema(parameters),
})

/** The model gives amounts only, so it is told the currency. */
function asPayment(tool: SharedTool): ChatTool {
  const shown = asFunction(tool)
  const { currency } = tool.definition.payment ?? {}
  return currency === undefined ? shown : { ...shown, description: `${shown.description} Amounts are in ${currency}.` }
}

/** The assistant's own and shared tools that do not act on the call. */
export const ownTools = ({ tools, shared }: Pick<LiveSettings, 'tools' | 'shared'>): ChatTool[] => [
  ...tools.map(({ name, description, parameters }) => ({ name, description, parameters: objectSchema(parameters) })),
  ...shared.filter(({ kind }) => kind === 'http' || kind === SEARCH_KNOWLEDGE).map(asFunction),
]

export const transferName = (name: string): string => `${TRANSFER_PREFIX}${name}`

export const handOverOf = (
  { hand_overs: handOvers }: Pick<LiveSettings, 'hand_overs'>,
  toolName: string,
): HandOver | undefined => handOvers.find(({ name }) => transferName(name) === toolName)

/** A tool that a model asks for. */
export interface ToolCall {
  id: string
  name: string
  input: Record<string, unknown>
}

/** The result of a tool, for the model and for the journal. */
export interface ToolResult {
  status: 'succeeded' | 'failed'
  output: string
  /** Stored and shown in place of the input, which contains keys of a card payment. */
  shown?: Record<string, string>
}

type HttpTools = Pick<LiveSettings, 'tools' | 'shared'>

/** The request of the HTTP tool with this name; undefined: there is none. */
export function httpTool(
  { tools, shared }: HttpTools,
  name: string,
): { http: HttpSettings; parameters: Record<string, unknown> } | undefined {
  const own = tools.find(tool => tool.name === name)
  if (own !== undefined) return { http: plainHttp(own), parameters: own.parameters }
  const { http = null, parameters = {} } = shared.find(tool => tool.name === name)?.definition ?? {}
  return http === null ? undefined : { http, parameters }
}

/** An assistant's own tool gets its input by POST, unchanged. */
const plainHttp = ({ url }: AssistantTool): HttpSettings => ({
  url,
  method: 'POST',
  headers: {},
  body: null,
  body_format: 'json',
  timeout_ms: ACTION_TIMEOUT_MS,
  retries: 0,
  response: {},
})

/**
 * The Idempotency-Key of a use. It is the same if a model asks for the use again at the same place of the call, after it was interrupted or in another
 * process: models give other IDs then.
 */
export const keyOfUse = (callId: string, place: string, { name, input }: ToolCall): string =>
  `${callId}-${place}-${createHash('sha256')
    .update(JSON.stringify([name, input]))
    .digest('base64url')}`

/** Runs one of the assistant's HTTP tools. */
export async function runTool(
  parts: ToolParts,
  settings: HttpTools,
  called: ToolCall & Omit<HttpUse, 'input'>,
): Promise<ToolResult> {
  const tool = httpTool(settings, called.name)
  if (tool === undefined) return failed(`there is no tool ${called.name}`)
  const wrong = inputProblem(tool.parameters, called.input)
  if (wrong !== null) return failed(wrong)
  return resultOf(await useHttp(parts, tool.http, called))
}

const resultOf = (result: UseResult): ToolResult =>
  result.outcome === 'success' ? { status: 'succeeded', output: result.output } : failed(result.message)

export const failed = (message: string): ToolResult => ({ status: 'failed', output: `failed: ${message}` })

/** A tool's input as the journal shows it. */
export const shownInput = (input: Record<string, unknown>): Record<string, FlowValue> =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as FlowValue),
    ]),
  )
