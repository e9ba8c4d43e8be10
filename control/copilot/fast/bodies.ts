import type { ProfileSettings } from '../schema.ts'
import { byOf, keyOf, kindOf } from './slots.ts'
import { openItems } from './stages.ts'
import type { CopilotState, MessageType, Slot } from './state.ts'

/** The type and body of the message that shows a slot's value. Null: it is not shown. */
export function bodyOf(
  state: CopilotState,
  profile: ProfileSettings,
  name: string,
  slot: Slot,
  value: string,
): { type: MessageType; body: Record<string, unknown> } | null {
  const key = keyOf(name)
  const by = byOf(slot) ?? 'heard'
  switch (kindOf(name)) {
    case 'transcript': {
      const [text, isFinal] = JSON.parse(value) as [string, boolean]
      return {
        type: 'transcript',
        body: { utterance_id: name.slice('transcript:'.length), text, final: isFinal, ...slot.more },
      }
    }
    case 'item':
      return itemBody(profile, name, by)
    case 'stage': {
      const stage = profile.stages.find(one => one.key === value)
      if (stage === undefined) return null
      const { label, goal } = stage
      return { type: 'stage', body: { key: value, label, goal, to_do: openItems(state, stage) } }
    }
    case 'field': {
      const field = profile.fields.find(one => one.key === key)
      if (field === undefined) return null
      return { type: 'field', body: { key, label: field.label, field_type: field.type, value, by } }
    }
    case 'disclosure':
      return disclosureBody(profile, key, value)
    case 'forbidden': {
      const forbidden = profile.compliance.forbidden_phrases[Number(key)]
      return forbidden === undefined ? null : { type: 'compliance', body: { kind: 'forbidden_phrase', ...forbidden } }
    }
    case 'objection': {
      const objection = profile.objections.find(one => one.key === key)
      if (objection === undefined) return null
      const { label, response, follow_up } = objection
      return { type: 'objection', body: { key, label, response, follow_up, ...slot.more } }
    }
    case 'card':
      return { type: 'card', body: { passage_id: key, ...slot.more } }
    case 'answer':
      return { type: 'card', body: { ...slot.more } }
    case 'sentiment':
      return { type: 'sentiment', body: { mood: value, ...slot.more } }
    case 'nudge':
      return { type: 'nudge', body: { kind: key, ...slot.more } }
    case 'alert':
      return alertBody(profile, key, slot)
    default:
      return null
  }
}

function itemBody({ stages }: ProfileSettings, name: string, by: string) {
  const path = keyOf(name)
  const [stageKey = '', key = ''] = path.split('/')
  const item = stages.find(one => one.key === stageKey)?.checklist.find(one => one.key === key)
  if (item === undefined) return null
  return { type: 'checklist' as const, body: { stage: stageKey, key, label: item.label, done: true, by } }
}

function disclosureBody({ compliance }: ProfileSettings, key: string, status: string) {
  const disclosure = compliance.required_disclosures.find(one => one.key === key)
  if (disclosure === undefined) return null
  const { label, text } = disclosure
  return { type: 'compliance' as const, body: { kind: 'required_disclosure', key, label, text, status } }
}

/** An alert for a missed disclosure exists even if the profile defines no such alert. */
function alertBody({ alerts }: ProfileSettings, key: string, slot: Slot) {
  const alert = alerts.find(one => one.key === key)
  if (alert === undefined) {
    const body = {
      key,
      kind: 'missed_disclosure',
      label: key,
      message: '',
      severity: 'critical',
      notify_supervisor: false,
    }
    return { type: 'alert' as const, body: { ...body, ...slot.more } }
  }
  const { kind, label, message, severity, notify_supervisor } = alert
  return { type: 'alert' as const, body: { key, kind, label, message, severity, notify_supervisor, ...slot.more } }
}
