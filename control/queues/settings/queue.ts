import { NO_AUDIO_DEFAULTS } from '../../calls/sound/audio-schema.ts'
import { NO_CAPTURE } from '../../capture-settings/settings.ts'
import { invalid, needed, type Problem } from '../../http/errors.ts'
import type { QueueSettings } from './schema.ts'

export const DEFAULT_SETTINGS: QueueSettings = {
  enabled: true,
  strategy: 'longest_idle',
  member_user_ids: [],
  member_team_ids: [],
  ring_timeout_seconds: 20,
  max_wait_seconds: 300,
  wrap_up_seconds: 0,
  away_on_missed: true,
  overflow: {
    when_no_agents: false,
    action: 'voicemail',
    assistant_id: null,
    user_id: null,
    queue_id: null,
    number: '',
  },
  voicemail: { message: '', max_seconds: 120 },
  hold: {
    audio: 'music',
    audio_asset_id: null,
    announcement: '',
    announce_position: false,
    position_interval_seconds: 60,
  },
  wait_keys: { voicemail: '', callback: '' },
  callbacks: {
    route: 'agent_queue',
    agent_id: null,
    assistant_id: null,
    priority: 5,
    voicemail_to_callback: false,
  },
  voice_assistant_id: null,
  copilot_profile_id: null,
  ...NO_CAPTURE,
  ...NO_AUDIO_DEFAULTS,
}

/** The field that each overflow action needs. */
const OVERFLOW_NEEDS = {
  assistant: 'assistant_id',
  agent: 'user_id',
  queue: 'queue_id',
  number: 'number',
  voicemail: null,
  busy: null,
} as const satisfies Record<QueueSettings['overflow']['action'], keyof QueueSettings['overflow'] | null>

const CALLBACKS_NEED = { agent: 'agent_id', assistant: 'assistant_id', agent_queue: null } as const

/** Why these settings cannot work together, or null. */
export function settingsProblem({ overflow, hold, wait_keys, callbacks }: QueueSettings): Problem | null {
  const absent = (value: string | null): boolean => value === null || value === ''
  const need = (param: string, because: string): Problem => needed(param, `${because} needs ${param}.`)
  const aim = OVERFLOW_NEEDS[overflow.action]
  if (aim !== null && absent(overflow[aim])) return need(`overflow.${aim}`, `The overflow action ${overflow.action}`)
  if (hold.audio === 'asset' && hold.audio_asset_id === null) return need('hold.audio_asset_id', 'Hold audio asset')
  const returner = CALLBACKS_NEED[callbacks.route]
  if (returner !== null && absent(callbacks[returner])) {
    return need(`callbacks.${returner}`, `The callback route ${callbacks.route}`)
  }
  if (wait_keys.voicemail !== '' && wait_keys.voicemail === wait_keys.callback) {
    return invalid('wait_keys.callback', 'One key cannot have two meanings.')
  }
  return null
}

/** The queue that this one overflows into, if any. */
const nextOf = ({ overflow }: QueueSettings): string | null => (overflow.action === 'queue' ? overflow.queue_id : null)

/** Whether calls that overflow from `id` would come back to it; `settingsOf` knows every queue, as it would be. */
export function overflowsIntoItself(id: string, settingsOf: ReadonlyMap<string, QueueSettings>): boolean {
  const seen = new Set<string>()
  for (let at: string | null = id; at !== null && !seen.has(at); ) {
    seen.add(at)
    const settings = settingsOf.get(at)
    at = settings === undefined ? null : nextOf(settings)
    if (at === id) return true
  }
  return false
}

/** Whether the user answers the queue, as a member or through the team. */
export const isAnsweredBy = (settings: QueueSettings, user: { id: string; teamId: string | null }): boolean =>
  settings.member_user_ids.includes(user.id) || (user.teamId !== null && settings.member_team_ids.includes(user.teamId))

/** The name under which the settings name this ID, or null. */
export function useOf(settings: QueueSettings, id: string): string | null {
  const names: Record<string, string | null> = {
    'overflow.assistant_id': settings.overflow.assistant_id,
    'overflow.user_id': settings.overflow.user_id,
    'overflow.queue_id': settings.overflow.queue_id,
    'hold.audio_asset_id': settings.hold.audio_asset_id,
    'callbacks.agent_id': settings.callbacks.agent_id,
    'callbacks.assistant_id': settings.callbacks.assistant_id,
    voice_assistant_id: settings.voice_assistant_id,
    copilot_profile_id: settings.copilot_profile_id,
  }
  return Object.keys(names).find(name => names[name] === id) ?? null
}
