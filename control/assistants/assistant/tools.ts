import { Ajv } from 'ajv'
import type { RegExpEngine, RegExpLike } from 'ajv/dist/types/index.js'
import type { FlowValue } from '../../flows/engine/graph.ts'
import { compilePattern } from '../../flows/engine/pattern.ts'
import type { ChatTool } from '../../models/model.ts'
import { type HttpActionParts, postAction } from '../actions/http-action.ts'
import type { AssistantSettings, HandOver } from '../assistant-settings.ts'
import { END_CALL, TRANSFER_PREFIX } from './tool-names.ts'

/** What a tool's answer may take of the model's attention [characters]. */
const MAX_OUTPUT = 4000
const NOTHING = { type: 'object', properties: {}, additionalProperties: false }

/** Schemas are customers': what cannot be compiled refuses its tool, and formats are not judged. */
const ajv = new Ajv({ strict: false, validateFormats: false, logger: false, code: { regExp: boundedPattern() } })

/** Patterns are customers' too: they run in bounded time, and one that cannot be compiled so refuses its tool. */
function boundedPattern(): RegExpEngine {
  const engine = (source: string): RegExpLike => {
    const pattern = compilePattern(source)
    if (typeof pattern === 'string') throw new Error(pattern)
    return { test: text => pattern.matches(text) }
  }
  return Object.assign(engine, { code: 'boundedPattern' })
}

/** What the model may ask for: to end the call, to give it to somebody, and the assistant's own tools. */
export function toolsOf(settings: AssistantSettings): ChatTool[] {
  const { hand_overs: handOvers = [] } = settings
  return [
    { name: END_CALL, description: 'Ends the call, after goodbye.', parameters: NOTHING },
    ...queuesFirst(handOvers).map(({ name, description }) => ({
      name: transferName(name),
      description: `Gives the call to ${description === '' ? name : description}.`,
      parameters: NOTHING,
    })),
    ...ownTools(settings),
  ]
}

/** Who knows no better takes the first: a queue rings whoever is free. */
const queuesFirst = (handOvers: readonly HandOver[]): HandOver[] =>
  handOvers.toSorted((a, b) => Number(b.target.type === 'queue') - Number(a.target.type === 'queue'))

/** The assistant's own tools. */
export const ownTools = ({ tools }: Pick<AssistantSettings, 'tools'>): ChatTool[] =>
  tools.map(({ name, description, parameters }) => ({ name, description, parameters: objectSchema(parameters) }))

export const transferName = (name: string): string => `${TRANSFER_PREFIX}${name}`

/** An empty schema takes any object. */
const objectSchema = (parameters: Record<string, unknown>): Record<string, unknown> =>
  'type' in parameters ? parameters : { type: 'object', ...parameters }

export const handOverOf = ({ hand_overs: handOvers = [] }: AssistantSettings, toolName: string): HandOver | undefined =>
  handOvers.find(({ name }) => transferName(name) === toolName)

/** A tool that a model asks for. */
export interface ToolCall {
  id: string
  name: string
  input: Record<string, unknown>
}

/** What came of a tool, for the model and for the journal. */
export interface ToolResult {
  status: 'succeeded' | 'failed'
  output: string
}

/** Runs one of the assistant's HTTP tools. `key` is the same when it is run over. */
export async function runTool(
  parts: HttpActionParts,
  settings: Pick<AssistantSettings, 'tools'>,
  called: ToolCall & { key: string; signal: AbortSignal },
): Promise<ToolResult> {
  const tool = settings.tools.find(({ name }) => name === called.name)
  if (tool === undefined) return failed(`there is no tool ${called.name}`)
  const wrong = inputProblem(objectSchema(tool.parameters), called.input)
  if (wrong !== null) return failed(wrong)
  const { key, signal, input } = called
  const result = await postAction(parts, { url: tool.url, input, key, signal })
  if (result.outcome !== 'success') return failed(result.message)
  return { status: 'succeeded', output: result.text.slice(0, MAX_OUTPUT) }
}

const failed = (message: string): ToolResult => ({ status: 'failed', output: `failed: ${message}` })

function inputProblem(schema: Record<string, unknown>, input: Record<string, unknown>): string | null {
  try {
    if (ajv.validate(schema, input) === true) return null
    return ajv.errorsText(ajv.errors, { dataVar: 'input' })
  } catch {
    return 'the schema of the tool cannot be used'
  } finally {
    // Schemas are many and short-lived: what was compiled is not kept.
    ajv.removeSchema()
  }
}

/** A tool's input as the journal shows it. */
export const shownInput = (input: Record<string, unknown>): Record<string, FlowValue> =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as FlowValue),
    ]),
  )
