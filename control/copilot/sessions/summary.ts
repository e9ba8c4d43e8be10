import { disclosureSlot, fieldSlot, itemSlot, keyOf, kindOf, valueOfSlot } from '../fast/slots.ts'
import type { CopilotState } from '../fast/state.ts'
import type { CopilotSessionRow } from '../tables.ts'
import { settingsOfSession } from './records.ts'

/** The summary of what is known when the agent's part of the call has ended. */
export function summaryOf(row: CopilotSessionRow, state: CopilotState): Record<string, unknown> {
  const { stages, fields, compliance } = settingsOfSession(row)
  const { slots } = state
  const isDone = (stage: string, key: string): boolean => valueOfSlot(slots[itemSlot(stage, key)]) === 'done'
  const items = stages.flatMap(stage => stage.checklist.map(({ key }) => ({ stage: stage.key, key })))
  return {
    stage: slots['stage:']?.told?.value ?? null,
    done: items.filter(({ stage, key }) => isDone(stage, key)),
    not_done: items.filter(({ stage, key }) => !isDone(stage, key)),
    fields: fields.flatMap(({ key, label }) => {
      const value = valueOfSlot(slots[fieldSlot(key)])
      return value === null ? [] : [{ key, label, value }]
    }),
    missing: fields
      .filter(({ key, required }) => required && valueOfSlot(slots[fieldSlot(key)]) === null)
      .map(({ key, label }) => ({ key, label })),
    disclosures: compliance.required_disclosures.map(({ key }) => ({
      key,
      status: valueOfSlot(slots[disclosureSlot(key)]) ?? 'open',
    })),
    objections: [
      ...new Set(
        Object.entries(slots)
          .filter(([name, { told }]) => kindOf(name) === 'objection' && told !== null)
          .map(([name]) => keyOf(name)),
      ),
    ],
    mood: slots['sentiment:']?.told?.value ?? 'neutral',
  }
}
