import Type, { type Static } from 'typebox'
import { audioDefaults } from '../../calls/sound/audio-schema.ts'
import { captureFields } from '../../capture-settings/settings.ts'
import { apiObject, input, nullable, objectName, oneOf, partialInput, timestamp } from '../../kernel/schema.ts'
import { STRATEGY_NAMES } from '../distributor.ts'

const reference = (description: string) => nullable(Type.String({ maxLength: 200, description }))
const members = (pattern: string, description: string) =>
  Type.Array(Type.String({ pattern, maxLength: 200 }), { maxItems: 1000, uniqueItems: true, description })
const seconds = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description })
const key = (description: string) => Type.String({ pattern: '^[0-9*#]?$', description: `${description}; empty: off.` })

const overflow = {
  when_no_agents: Type.Boolean({ description: 'Overflow at once when no agent is signed in.' }),
  action: oneOf(['assistant', 'voicemail', 'busy', 'agent', 'queue', 'number']),
  assistant_id: reference('Used by action `assistant`.'),
  user_id: reference('Used by action `agent`.'),
  queue_id: reference('Used by action `queue`.'),
  number: Type.String({ pattern: '^(\\+[1-9][0-9]{1,14})?$', description: 'E.164; used by action `number`.' }),
}
const voicemail = {
  message: Type.String({ maxLength: 2000, description: 'Played before the beep; empty: the default greeting.' }),
  max_seconds: seconds(5, 600, 'Maximum length of a message.'),
}
const hold = {
  audio: oneOf(['music', 'ringback', 'silence', 'asset'], { description: 'asset: plays `audio_asset_id` in a loop.' }),
  audio_asset_id: reference('`aud_…`'),
  announcement: Type.String({ maxLength: 2000, description: 'Spoken to callers when they join.' }),
  announce_position: Type.Boolean({ description: 'Tell callers their place in line.' }),
  position_interval_seconds: seconds(10, 3600, 'Time between two announcements of the position.'),
}
const waitKeys = {
  voicemail: key('Key pressed while waiting to leave voicemail'),
  callback: key('Key pressed while waiting to ask for a callback; who cannot be called back is told so, and waits on'),
}
const callbacks = {
  route: oneOf(['agent_queue', 'agent', 'assistant'], { description: "Who returns this queue's callbacks." }),
  agent_id: reference('`usr_…`'),
  assistant_id: reference('`asst_…`'),
  priority: Type.Integer({ minimum: 1, maximum: 10, description: '1 (low) to 10 (urgent).' }),
  voicemail_to_callback: Type.Boolean({ description: 'A voicemail left in the queue also becomes a callback task.' }),
}

const plain = {
  enabled: Type.Boolean({ description: 'A disabled queue takes no calls: they overflow.' }),
  strategy: oneOf(STRATEGY_NAMES, { description: 'Which available agent rings first.' }),
  member_user_ids: members('^usr_[A-Za-z0-9]+$', 'Users answering the queue.'),
  member_team_ids: members('^team_[A-Za-z0-9]+$', 'Teams whose members answer.'),
  ring_timeout_seconds: seconds(5, 120, "How long an agent's phone rings before the next agent's."),
  max_wait_seconds: seconds(0, 86_400, 'Wait before the overflow action, also while a phone rings; 0: no limit.'),
  wrap_up_seconds: seconds(0, 3600, 'After-call time before the agent gets the next call.'),
  away_on_missed: Type.Boolean({ description: 'An agent who misses a call is set to away.' }),
  voice_assistant_id: reference("Assistant whose voice speaks the queue's announcements."),
  copilot_profile_id: reference('`cop_…`'),
  ...captureFields,
  ...audioDefaults,
}

const settings = {
  ...plain,
  overflow: Type.Object(overflow),
  voicemail: Type.Object(voicemail),
  hold: Type.Object(hold),
  wait_keys: Type.Object(waitKeys),
  callbacks: Type.Object(callbacks),
}

/** All settings of a queue except its name. */
const settingsSchema = Type.Object(settings)
export type QueueSettings = Static<typeof settingsSchema>

/** Specification, "Queue". */
export const queueSchema = apiObject('queue', {
  name: Type.String(),
  ...settings,
  created: timestamp(),
  updated: timestamp(),
})
export type Queue = Static<typeof queueSchema>

const name = objectName()
const parts = {
  ...plain,
  overflow: partialInput(overflow),
  voicemail: partialInput(voicemail),
  hold: partialInput(hold),
  wait_keys: partialInput(waitKeys),
  callbacks: partialInput(callbacks),
}
export const createBody = input({ name, ...partialInput(parts).properties })
export const changeBody = partialInput({ name, ...parts })
