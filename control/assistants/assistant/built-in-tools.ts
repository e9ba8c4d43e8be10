import { cutTo } from '../../../media/protocol.ts'
import type { FlowValue } from '../../flows/engine/graph.ts'
import type { Db } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import { inputProblem } from '../../tools/input.ts'
import type { SharedTool } from '../../tools/store.ts'
import { MAX_OUTPUT } from '../../tools/use-http.ts'
import type { LiveSettings } from '../assistant-settings.ts'
import type { Stage } from '../stage.ts'
import type { PassageFinder } from './passage-finder.ts'
import { PRESS_KEYS, SEARCH_KNOWLEDGE, TAKE_PAYMENT } from './tool-names.ts'
import { failed, type ToolCall, type ToolResult } from './tools.ts'

/** How long a key is pressed [ms]. */
const KEY_MS = 120

/** The shared tool with this name, if its kind is built in; otherwise undefined. */
export const builtInCalled = ({ shared }: Pick<LiveSettings, 'shared'>, name: string): SharedTool | undefined =>
  shared.find(tool => tool.kind !== 'http' && tool.name === name)

/** The passages of the knowledge base that fit a question, as one text; empty: none. */
export const lookUp =
  (passagesFor: PassageFinder) =>
  async (db: Db, tenant: Tenant, documentIds: string[], question: string): Promise<string> =>
    cutTo((await passagesFor(db, tenant, documentIds, question)).passages.join('\n\n'), MAX_OUTPUT)

/** Searches the tool's documents or, if it names none, the assistant's. */
export async function searchKnowledge(
  { db, passagesFor }: { db: Db; passagesFor: PassageFinder },
  tenant: Tenant,
  { definition }: SharedTool,
  { input, documentIds }: { input: Record<string, unknown>; documentIds: string[] },
): Promise<ToolResult> {
  const wrong = inputProblem(definition.parameters, input)
  if (wrong !== null) return failed(wrong)
  const own = definition.knowledge?.document_ids ?? []
  const found = await lookUp(passagesFor)(db, tenant, own.length > 0 ? own : documentIds, String(input.query))
  return { status: 'succeeded', output: found === '' ? 'nothing was found' : found }
}

/** Runs a built-in tool that does not move the call. */
export async function useBuiltIn(
  parts: { db: Db; passagesFor: PassageFinder },
  stage: Stage,
  { tool, documentIds }: { tool: SharedTool; documentIds: string[] },
  { input }: ToolCall,
): Promise<ToolResult> {
  if (tool.kind === SEARCH_KNOWLEDGE) return searchKnowledge(parts, stage.tenant, tool, { input, documentIds })
  if (tool.kind === PRESS_KEYS) return pressKeys(stage, tool, input)
  // A payment whose input fits is no use of a tool, see `paymentAsked`.
  return failed(inputProblem(tool.definition.parameters, input) ?? `${tool.name} cannot be used now`)
}

/** Sends keys. The journal shows them only if media says that no card payment is in progress. */
async function pressKeys(stage: Stage, tool: SharedTool, input: ToolCall['input']): Promise<ToolResult> {
  const shown = { keys: String(input.keys).replace(/[0-9]/g, '*') }
  const wrong = inputProblem(tool.definition.parameters, input)
  if (wrong !== null) return { ...failed(wrong), shown }
  const request = { legId: stage.legId, digits: String(input.keys), durationMs: KEY_MS }
  const reply = await stage.request('leg.send_dtmf', request)
  if ('failure' in reply) return { ...failed(reply.message), shown }
  return { status: 'succeeded', output: 'pressed', ...(reply.masked && { shown }) }
}

/** The input of the payment that the model asks for with a valid tool call; null: it asks for none. */
export function paymentAsked(settings: LiveSettings, { name, input }: ToolCall): Record<string, FlowValue> | null {
  const tool = builtInCalled(settings, name)
  if (tool?.kind !== TAKE_PAYMENT || inputProblem(tool.definition.parameters, input) !== null) return null
  const { amount, description } = input as { amount: string; description?: string }
  const { currency = '', number = null } = tool.definition.payment ?? {}
  return {
    ...{ amount, currency, description: description ?? '' },
    ...(number !== null && { target_type: 'number', target_id: number }),
  }
}
