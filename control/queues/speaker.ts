import { voiceOf } from '../live/assistant-settings.ts'
import type { Speaker } from '../phrases.ts'
import type { QueueSettings } from '../resources/queues/schema.ts'
import type { TenantDb } from '../tenancy.ts'

/** Who speaks for a queue, as its settings of an assistant say it: the default voice, in English, where there is none. */
export async function speakerOf(scoped: TenantDb, { voice_assistant_id }: QueueSettings): Promise<Speaker> {
  const assistant = voice_assistant_id === null ? undefined : await scoped.find('assistants', voice_assistant_id)
  if (assistant === undefined) return { voice: null, language: null }
  return voiceOf(JSON.parse(assistant.settings))
}
