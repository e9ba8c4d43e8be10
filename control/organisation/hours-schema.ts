import Type, { type Static } from 'typebox'
import { invalid, needed, type Problem } from '../http/errors.ts'
import { merge } from '../http/merge.ts'
import { input, oneOf } from '../kernel/schema.ts'
import { DAYS, type OpeningHours } from './business-hours.ts'

/** Schemas of an organisation's settings for callbacks, and of its business hours. */

const time = (last: string) => Type.String({ pattern: `^(([01][0-9]|2[0-3]):[0-5][0-9]${last})$` })

export const businessHours = {
  weekly: Type.Array(input({ day: oneOf([...DAYS]), open: time(''), close: time('|24:00') }), {
    minItems: 1,
    maxItems: 50,
    description:
      'Opening hours. `close` is after `open`: a night lasts until 24:00, and goes on from 00:00 of the next day.',
  }),
  holidays: Type.Array(Type.String({ format: 'date' }), {
    maxItems: 200,
    uniqueItems: true,
    description: 'Days when it is closed.',
  }),
}

export const callbackSettings = {
  default_route: oneOf(['agent_queue', 'agent', 'assistant'], {
    description: 'Who calls back, unless the request says so.',
  }),
  max_attempts: Type.Integer({ minimum: 1, maximum: 20 }),
  api_priority: Type.Integer({ minimum: 1, maximum: 10, description: 'Default for callbacks booked through the API.' }),
  sla_minutes: Type.Integer({
    minimum: 1,
    maximum: 10_080,
    description: 'Business hours within which a callback should be returned.',
  }),
}
const callbackSettingsSchema = Type.Object(callbackSettings)
export type CallbackSettings = Static<typeof callbackSettingsSchema>

export const DEFAULT_CALLBACK_SETTINGS: CallbackSettings = {
  default_route: 'agent_queue',
  max_attempts: 3,
  api_priority: 5,
  sla_minutes: 60,
}

/** Stored hours with a change merged in; null: always open. `param`: name of the field in the request. */
export function changedHours<T extends OpeningHours>(
  stored: T | null,
  change: Partial<T> | null,
  param = 'business_hours',
): T | null | Problem {
  if (change === null) return null
  const hours = merge(stored ?? ({ weekly: [], holidays: [] } as OpeningHours as T), change)
  if (hours.weekly.length === 0) return needed(`${param}.weekly`, 'Business hours need a week.')
  const wrong = hours.weekly.findIndex(({ open, close }) => close <= open)
  if (wrong < 0) return hours
  return invalid(
    `${param}.weekly[${wrong}].close`,
    'close must be after open: end the day at 24:00, and go on from 00:00 of the next.',
  )
}
