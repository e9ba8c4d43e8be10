import type { ProfileSettings } from '../schema.ts'
import { itemSlot, valueOfSlot } from './slots.ts'
import type { CopilotState } from './state.ts'

type Stage = ProfileSettings['stages'][number]

const isDone = (state: CopilotState, stage: string, key: string): boolean =>
  valueOfSlot(state.slots[itemSlot(stage, key)]) === 'done'

/** Whether all required items of a stage are done; if none is required, all items. */
function isComplete(state: CopilotState, { key, checklist }: Stage): boolean {
  const required = checklist.filter(item => item.required)
  const wanted = required.length > 0 ? required : checklist
  return wanted.length > 0 && wanted.every(item => isDone(state, key, item.key))
}

/**
 * The stage of the conversation: the first incomplete one that is not before the last one with any item done. A script has no stages. A
 * stage that a person has chosen holds until it is complete.
 */
export function stageOf(
  state: CopilotState,
  { stages, script }: Pick<ProfileSettings, 'stages' | 'script'>,
): string | null {
  if (stages.length === 0 || script.flow_id !== null) return null
  const chosen = stages.findIndex(({ key }) => key === state.slots.chosen_stage?.person?.value)
  const reached = stages.findLastIndex(({ key, checklist }) => checklist.some(item => isDone(state, key, item.key)))
  let at = chosen >= 0 ? chosen : Math.max(0, reached)
  // A chosen stage that was already complete is not left at once.
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

/** The open items of a stage. */
export const openItems = (state: CopilotState, stage: Stage) =>
  stage.checklist
    .filter(({ key }) => !isDone(state, stage.key, key))
    .map(({ key, label, ask, required }) => ({ key, label, ask, required }))
