import type { CopilotState } from '../fast/state.ts'
import type { CopilotSessionRow } from '../tables.ts'
import { messageId } from './message-schema.ts'

/** IDs of the valid messages, in order, without those that were replaced, withdrawn or dismissed. */
export function heldBy({ id, state }: Pick<CopilotSessionRow, 'id' | 'state'>): string[] {
  const { slots } = JSON.parse(state) as CopilotState
  return Object.values(slots)
    .flatMap(({ told }) => told?.seq ?? [])
    .sort((a, b) => a - b)
    .map(seq => messageId(id, seq))
}
