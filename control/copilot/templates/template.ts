import type { ProfileSettings } from '../schema.ts'

/** A profile to begin with: what it does not say has its default. */
export interface CopilotTemplate {
  id: string
  name: string
  description: string
  settings: Partial<ProfileSettings>
}

type Stage = ProfileSettings['stages'][number]
type Objection = ProfileSettings['objections'][number]
type Field = ProfileSettings['fields'][number]
type Disclosure = ProfileSettings['compliance']['required_disclosures'][number]
type Alert = ProfileSettings['alerts'][number]

/** `checks`: by key, what the agent is asked to do, and the phrases that show that it was done. */
export const stage = (
  key: string,
  label: string,
  goal: string,
  checks: Record<string, [ask: string, ...phrases: string[]]>,
): Stage => ({
  key,
  label,
  goal,
  checklist: Object.entries(checks).map(([key, [ask, ...phrases]]) => ({
    key,
    label: ask,
    ask,
    phrases,
    required: true,
  })),
})

export const objection = (key: string, label: string, triggers: string[], response: string): Objection => ({
  key,
  label,
  examples: [],
  triggers,
  response,
  follow_up: '',
  kb_query: '',
})

export const field = (key: string, label: string, type: Field['type'] = 'text', required = false): Field => ({
  key,
  label,
  type,
  hint: '',
  options: [],
  pattern: '',
  required,
})

export const disclosure = (key: string, label: string, text: string, phrases: string[]): Disclosure => ({
  key,
  label,
  text,
  phrases,
  within_seconds: 60,
})

export const alert = (key: string, kind: Alert['kind'], label: string, message: string): Alert => ({
  key,
  kind,
  label,
  message,
  notify_supervisor: kind === 'customer_asks_for_supervisor',
  phrases: [],
  severity: 'warning',
  threshold: 0,
})
