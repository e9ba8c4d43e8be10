import type { ProfileSettings } from '../schema.ts'
import { itemSlot, valueOfSlot } from './slots.ts'
import type { CopilotState } from './state.ts'

type Stage = ProfileSettings['stages'][number]

export const isDone = (state: CopilotState, stage: string, key: string): boolean =>
  valueOfSlot(state.slots[itemSlot(stage, key)]) === 'done'

/** What must be done; where nothing must, everything. */
function isComplete(state: CopilotState, { key, checklist }: Stage): boolean {
  const required = checklist.filter(item => item.required)
  const wanted = required.length > 0 ? required : checklist
  return wanted.length > 0 && wanted.every(item => isDone(state, key, item.key))
}

/**
 * The stage of the conversation, as it follows from what is done: the first that is not complete, and none before the last in which
 * anything was done. A script has no stages. Where a person has chosen a stage, it is that one until it is complete.
 */
export function stageOf(
  state: CopilotState,
  { stages, script }: Pick<ProfileSettings, 'stages' | 'script'>,
): string | null {
  if (stages.length === 0 || script.flow_id !== null) return null
  const chosen = stages.findIndex(({ key }) => key === state.slots.chosen_stage?.person?.value)
  const reached = stages.findLastIndex(({ key, checklist }) => checklist.some(item => isDone(state, key, item.key)))
  let at = chosen >= 0 ? chosen : Math.max(0, reached)
  // What was complete when a person went there is no reason to leave it at once.
  const stays = chosen >= 0 && state.slots.chosen_stage?.more?.wasComplete === true
  while (!stays && at < stages.length - 1 && isComplete(state, stages[at]!)) at++
  return stages[at]!.key
}

export const chooseStage = (state: CopilotState, { stages }: ProfileSettings, key: string): void => {
  const stage = stages.find(one => one.key === key)
  if (stage === undefined) return
  state.slots.chosen_stage = {
    claims: [],
    person: { value: key },
    told: null,
    atMs: state.nowMs,
    more: { wasComplete: isComplete(state, stage) },
  }
}

/** What is still to be asked in a stage. */
export const openItems = (state: CopilotState, stage: Stage) =>
  stage.checklist
    .filter(({ key }) => !isDone(state, stage.key, key))
    .map(({ key, label, ask, required }) => ({ key, label, ask, required }))
