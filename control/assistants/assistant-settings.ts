import type { Speaker } from '../kernel/phrases.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { type SharedTool, sharedTools } from '../tools/store.ts'
import { type AssistantSettings, type HandOver, settingsOf } from './schema.ts'

/** Also contains the shared tools. They are read when a call begins, and that call keeps them. */
export interface LiveSettings extends AssistantSettings {
  shared: SharedTool[]
}

export async function assistantSettings(
  db: Db,
  tenant: Tenant,
  assistantId: string | null,
): Promise<LiveSettings | null> {
  const row = assistantId === null ? undefined : await forTenant(db, tenant).find('assistants', assistantId)
  if (row === undefined) return null
  const settings = settingsOf(row)
  const shared = await sharedTools(db, tenant, settings.tool_ids)
  return { ...settings, shared, hand_overs: [...settings.hand_overs, ...shared.flatMap(handOverBy)] }
}

/** The hand-over that a shared tool for transfers stands for. */
const handOverBy = ({ name, definition: { description, target } }: SharedTool): HandOver[] =>
  target === null ? [] : [{ name, description, target }]

/** Voice, language and speed of an assistant's speech. */
export function voiceOf(settings: Pick<AssistantSettings, 'voice' | 'language'> | null): Speaker {
  if (settings === null) return { voice: null, language: null }
  const { voice, speed = 1 } = settings.voice
  return { voice: voice === '' ? null : voice, language: settings.language, ...(speed === 1 ? {} : { speed }) }
}
