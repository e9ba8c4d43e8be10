import type { Tenant } from '../../kernel/tenancy.ts'
import type { ChatModel } from '../../models/model.ts'
import type { CentreParts } from '../actions/reach.ts'
import { transfer } from '../actions/transfer.ts'
import { type AssistantSettings, assistantSettings } from '../assistant-settings.ts'
import type { ActionScene } from '../flow-play.ts'
import type { Ending, Play } from '../programs.ts'
import type { Stage } from '../stage.ts'
import { type AssistantProgress, AssistantSession, type AssistantSessionParts } from './assistant-session.ts'
import { handOverOf } from './tools.ts'

export interface AssistantPlayParts extends Omit<AssistantSessionParts, 'models' | 'db'>, CentreParts {
  modelsFor: (tenant: Tenant, settings: AssistantSettings) => ChatModel[]
}

/** Rings in vain that one line of the caller's may cost; a model that wants still more ends the call. */
const MAX_HAND_OVERS = 3
/** How the history names the calls of tools that were hand-overs. */
const HAND_OVER = 'hand-over-'

/** Leads a call by an assistant that no flow leads. */
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
        progress.handOver === null
          ? await session.run(isNew)
          : { kind: 'hand_over' as const, name: progress.handOver.name }
      if (outcome.kind === 'end') return hangUp(stage, outcome.reason)
      const ending = await handOver(parts, stage, settings, progress, outcome.name)
      if (ending !== null) return ending
    }
  }

async function hangUp(stage: Stage, reason: string): Promise<Ending> {
  await stage.commit({ change: { end_reason: reason } })
  await stage.request('leg.hangup', { legId: stage.legId, reason: 'assistant_ended' })
  return { way: 'hangup' }
}

/** Gives the call to somebody; null: they cannot be reached, and the talk goes on with that. */
async function handOver(
  parts: AssistantPlayParts,
  stage: Stage,
  settings: AssistantSettings,
  progress: AssistantProgress,
  name: string,
): Promise<Ending | null> {
  const target = handOverOf(settings, name)?.target
  if (target === undefined) return hangUp(stage, 'error')
  const memo = progress.handOver?.memo ?? null
  progress.handOver = { name, memo }
  await stage.commit({ state: progress })
  await stage.request('leg.stop_listen', { legId: stage.legId })
  const scene: ActionScene = {
    stage,
    request: {
      nodeKey: 'assistant',
      kind: 'transfer',
      name: target.type,
      input: { target_type: target.type, target_id: target.id },
      node: { key: 'assistant', type: 'transfer', target },
    },
    assistantId: stage.row.assistant_id,
    flowKind: null,
    language: settings.language,
    memo,
    remember: async (memo, commit) => {
      progress.handOver = { name, memo }
      await stage.commit({ ...commit, state: progress })
    },
    flush: async () => {},
    nextId: what => what,
  }
  const { status, outcome, ending } = await transfer(parts, scene)
  const entry = {
    node_key: 'assistant',
    kind: 'transfer' as const,
    name: target.type,
    input: { target_type: target.type, target_id: target.id },
    output: outcome,
    dry_run: false,
    status,
  }
  progress.handOver = null
  const isStubborn = ending === undefined && failedHandOvers(progress) >= MAX_HAND_OVERS
  if (ending === undefined) {
    const id = `${HAND_OVER}${progress.turns}`
    progress.messages.push({ role: 'call', id, name, input: {} }, { role: 'result', id, output: `failed: ${outcome}` })
  }
  await stage.commit({
    state: progress,
    steps: [{ step: 'action', entry, at: stage.now().toISOString() }],
  })
  return isStubborn ? hangUp(stage, 'loop_limit') : (ending ?? null)
}

/** How often the model has tried in vain since the caller last said something. */
function failedHandOvers({ messages }: AssistantProgress): number {
  const since = messages.findLastIndex(({ role }) => role === 'customer')
  return messages.slice(since + 1).filter(message => message.role === 'call' && message.id.startsWith(HAND_OVER)).length
}
