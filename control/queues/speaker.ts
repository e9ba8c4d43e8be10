import { voiceOf } from '../assistants/assistant-settings.ts'
import { settingsOf } from '../assistants/schema.ts'
import type { Speaker } from '../kernel/phrases.ts'
import type { TenantDb } from '../kernel/tenancy.ts'
import type { QueueSettings } from './settings/schema.ts'

/** The voice of a queue: that of its `voice_assistant_id`; without one, the default voice in English. */
export async function speakerOf(scoped: TenantDb, { voice_assistant_id }: QueueSettings): Promise<Speaker> {
  const assistant = voice_assistant_id === null ? undefined : await scoped.find('assistants', voice_assistant_id)
  if (assistant === undefined) return { voice: null, language: null }
  return voiceOf(settingsOf(assistant))
}
