import Type, { type Static } from 'typebox'
import { apiObject, nullable, timestamp } from '../../kernel/schema.ts'
import { showRow } from '../../kernel/show-row.ts'
import { figuresOf } from '../fast/figures.ts'
import { byOf, disclosureSlot, fieldSlot, itemSlot, valueOfSlot } from '../fast/slots.ts'
import type { CopilotState, Slot } from '../fast/state.ts'
import { profileSettings } from '../profile.ts'
import type { ProfileSettings } from '../schema.ts'
import type { CopilotSessionRow } from '../tables.ts'
import { heldBy } from './held.ts'
import { messageId } from './message-schema.ts'

const by = nullable(Type.String({ description: 'heard, deep, person' }))

/** The copilot of an agent's part of a call, with its whole state. */
export const copilotSessionSchema = apiObject('copilot_session', {
  status: Type.String({ description: 'running, ended' }),
  call_id: Type.String(),
  participant_id: Type.String({ description: 'ID of the agent.' }),
  user_id: nullable(Type.String({ description: 'The member on whose desktop it is shown.' })),
  queue_id: nullable(Type.String()),
  profile_id: Type.String(),
  profile_version: Type.Integer(),
  script: nullable(
    Type.Object({
      flow_id: Type.String(),
      version: Type.Integer(),
      node_key: nullable(Type.String({ description: 'The current step; null: the script has ended.' })),
    }),
  ),
  hearing: Type.String({ description: 'running; none: nobody is being heard, because of `hearing_reason`' }),
  hearing_reason: nullable(Type.String()),
  stage: nullable(Type.String({ description: 'The key of the current stage.' })),
  stages: Type.Array(
    Type.Object({
      key: Type.String(),
      label: Type.String(),
      goal: Type.String(),
      checklist: Type.Array(
        Type.Object({
          key: Type.String(),
          label: Type.String(),
          ask: Type.String(),
          required: Type.Boolean(),
          done: Type.Boolean(),
          by,
        }),
      ),
    }),
  ),
  fields: Type.Array(
    Type.Object({
      key: Type.String(),
      label: Type.String(),
      type: Type.String(),
      required: Type.Boolean(),
      options: Type.Array(Type.String(), { description: 'Of type `choice`: what it may be.' }),
      value: nullable(Type.String()),
      by,
    }),
  ),
  disclosures: Type.Array(
    Type.Object({
      key: Type.String(),
      label: Type.String(),
      text: Type.String({ description: 'What has to be said.' }),
      status: Type.String({ description: 'open, reminded, said, missed' }),
    }),
  ),
  showing: Type.Array(Type.String(), {
    description: 'IDs of the current messages, without those replaced, withdrawn or dismissed.',
  }),
  mood: Type.String({ description: "The customer's: negative, neutral, positive" }),
  figures: Type.Object({
    talk_ratio: nullable(Type.Number({ description: "The agent's share of talk time in the last two minutes." })),
    monologue_seconds: Type.Number(),
    silence_seconds: Type.Number(),
    words_per_minute: nullable(Type.Integer()),
  }),
  links: Type.Array(Type.Object({ label: Type.String(), url: Type.String() })),
  last_message_id: nullable(Type.String()),
  created: timestamp(),
  ended_at: nullable(timestamp()),
})
export type CopilotSession = Static<typeof copilotSessionSchema>

/** The source of a slot's value as clients see it. */
const shownBy = (slot: Slot | undefined): string | null => {
  const said = byOf(slot)
  return said === 'time' ? 'heard' : said
}

export function toSession(row: CopilotSessionRow): CopilotSession {
  const settings = profileSettings(row)
  const state = JSON.parse(row.state) as CopilotState
  const script = row.script === null ? null : (JSON.parse(row.script) as { nodeKey: string | null })
  return showRow(copilotSessionSchema, row, {
    script:
      row.flow_id === null || row.flow_version === null
        ? null
        : { flow_id: row.flow_id, version: row.flow_version, node_key: script?.nodeKey ?? null },
    ...known(settings, state),
    showing: heldBy(row),
    mood: state.slots['sentiment:']?.told?.value ?? 'neutral',
    figures: figuresOf(state),
    links: settings.kb.links,
    last_message_id: state.seq === 0 ? null : messageId(row.id, state.seq),
  })
}

function known(settings: ProfileSettings, state: CopilotState) {
  const { slots } = state
  return {
    stage: slots['stage:']?.told?.value ?? null,
    stages: settings.stages.map(({ key, label, goal, checklist }) => ({
      key,
      label,
      goal,
      checklist: checklist.map(item => {
        const slot = slots[itemSlot(key, item.key)]
        const { key: itemKey, label: name, ask, required } = item
        return { key: itemKey, label: name, ask, required, done: valueOfSlot(slot) === 'done', by: shownBy(slot) }
      }),
    })),
    fields: settings.fields.map(({ key, label, type, required, options }) => {
      const slot = slots[fieldSlot(key)]
      return { key, label, type, required, options, value: valueOfSlot(slot), by: shownBy(slot) }
    }),
    disclosures: settings.compliance.required_disclosures.map(({ key, label, text }) => ({
      key,
      label,
      text,
      status: valueOfSlot(slots[disclosureSlot(key)]) ?? 'open',
    })),
  }
}
