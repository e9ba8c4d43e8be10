import type { ActionRequest } from '../../flows/engine/effects.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import type { ChatModel } from '../../models/model.ts'
import { type PaymentParts, payment } from '../actions/payment.ts'
import { transfer } from '../actions/transfer.ts'
import { assistantSettings, type LiveSettings } from '../assistant-settings.ts'
import type { AfterTurn } from '../conversation/turn.ts'
import type { ActionScene } from '../flow-play.ts'
import type { Ending, Play } from '../programs.ts'
import type { Stage } from '../stage.ts'
import { type AssistantProgress, AssistantSession, type AssistantSessionParts } from './assistant-session.ts'
import { handOverOf } from './tools.ts'

interface AssistantPlayParts extends Omit<AssistantSessionParts, 'models' | 'db'>, PaymentParts {
  modelsFor: (tenant: Tenant, settings: LiveSettings) => ChatModel[]
}

type HandingOver = Pick<Extract<AfterTurn, { kind: 'hand_over' }>, 'name' | 'payment'>

/** Maximum number of failed hand-overs after one utterance of the caller; a model that asks for more ends the call. */
const MAX_HAND_OVERS = 3
/** Prefix of the IDs in the history of tool calls that were hand-overs. */
const HAND_OVER = 'hand-over-'

/** Runs a call that an assistant leads without a flow. */
export const assistantPlay =
  (parts: AssistantPlayParts): Play =>
  async stage => {
    const settings = await assistantSettings(parts.store.db, stage.tenant, stage.row.assistant_id)
    if (settings === null) return hangUp(stage, 'error')
    const stored = stage.state<AssistantProgress>()
    const models = parts.modelsFor(stage.tenant, settings)
    let isNew = stored === null
    for (let progress = stored; ; isNew = false) {
      const session = new AssistantSession({ ...parts, models, db: parts.store.db }, stage, settings, progress)
      progress = session.progress
      const outcome =
        progress.handOver === null ? await session.run(isNew) : { kind: 'hand_over' as const, ...progress.handOver }
      if (outcome.kind === 'end') return hangUp(stage, outcome.reason)
      const ending = await handOver(parts, stage, settings, progress, outcome)
      if (ending !== null) return ending
    }
  }

async function hangUp(stage: Stage, reason: string): Promise<Ending> {
  await stage.commit({ change: { end_reason: reason } })
  await stage.request('leg.hangup', { legId: stage.legId, reason: 'assistant_ended' })
  return { way: 'hangup' }
}

/** The target of a hand-over; undefined: no target has that name. */
function requestFor(settings: LiveSettings, { name, payment }: HandingOver): ActionRequest | undefined {
  const nodeKey = 'assistant'
  if (payment !== undefined) {
    const line = { type: 'number' as const, id: String(payment.target_id) }
    const target = payment.target_id === undefined ? {} : { target: line }
    return { nodeKey, kind: 'payment', name, input: payment, node: { key: nodeKey, type: 'payment', ...target } }
  }
  const target = handOverOf(settings, name)?.target
  if (target === undefined) return undefined
  const input = { target_type: target.type, target_id: target.id }
  return { nodeKey, kind: 'transfer', name: target.type, input, node: { key: nodeKey, type: 'transfer', target } }
}

/** Hands the call over; null: the target could not be reached, or has finished, and the conversation continues. */
async function handOver(
  parts: AssistantPlayParts,
  stage: Stage,
  settings: LiveSettings,
  progress: AssistantProgress,
  asked: HandingOver,
): Promise<Ending | null> {
  const request = requestFor(settings, asked)
  if (request === undefined) return hangUp(stage, 'error')
  const { name, payment: due } = asked
  const under = (memo: unknown) => ({ name, memo, ...(due !== undefined && { payment: due }) })
  const memo = progress.handOver?.memo ?? null
  progress.handOver = under(memo)
  await stage.commit({ state: progress })
  await stage.request('leg.stop_listen', { legId: stage.legId })
  const scene: ActionScene = {
    stage,
    request,
    assistantId: stage.row.assistant_id,
    flowKind: null,
    language: settings.language,
    memo,
    remember: async (memo, commit) => {
      progress.handOver = under(memo)
      await stage.commit({ ...commit, state: progress })
    },
    flush: async () => {},
    nextId: what => what,
  }
  const { status, outcome, ending } = await (due === undefined ? transfer : payment)(parts, scene)
  const entry = {
    node_key: request.nodeKey,
    kind: request.kind,
    name: request.name,
    input: request.input,
    output: outcome,
    dry_run: false,
    status,
  }
  progress.handOver = null
  const isStubborn = ending === undefined && failedHandOvers(progress) >= MAX_HAND_OVERS
  if (ending === undefined) {
    const id = `${HAND_OVER}${progress.turns}`
    const output = status === 'succeeded' ? outcome : `failed: ${outcome}`
    progress.messages.push({ role: 'call', id, name, input: due ?? {} }, { role: 'result', id, output })
  }
  await stage.commit({ state: progress, steps: [{ step: 'action', entry, at: stage.now().toISOString() }] })
  return isStubborn ? hangUp(stage, 'loop_limit') : (ending ?? null)
}

/** Number of failed hand-overs since the caller last said something. */
function failedHandOvers({ messages }: AssistantProgress): number {
  const since = messages.findLastIndex(({ role }) => role === 'customer')
  return messages.slice(since + 1).filter(message => message.role === 'call' && message.id.startsWith(HAND_OVER)).length
}
