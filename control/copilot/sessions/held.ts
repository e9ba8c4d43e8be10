import type { CopilotState } from '../fast/state.ts'
import type { CopilotSessionRow } from '../tables.ts'
import { messageId } from './message-schema.ts'

/** The messages that hold, in their order: what has been replaced, withdrawn or dismissed is not among them. */
export function heldBy({ id, state }: Pick<CopilotSessionRow, 'id' | 'state'>): string[] {
  const { slots } = JSON.parse(state) as CopilotState
  return Object.values(slots)
    .flatMap(({ told }) => told?.seq ?? [])
    .sort((a, b) => a - b)
    .map(seq => messageId(id, seq))
}
