import type { Speaker } from '../kernel/phrases.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { type SharedTool, sharedTools } from '../tools/store.ts'

/** A target to which an assistant may hand calls over, and how the model knows it. */
export interface HandOver {
  name: string
  description: string
  target: { type: 'queue' | 'user' | 'number' | 'assistant' | 'flow' | 'room'; id: string }
}

export interface AssistantTool {
  name: string
  description: string
  url: string
  /** JSON Schema of its input. */
  parameters: Record<string, unknown>
}

/** The fields of an assistant that a live call needs (`assistantSchema`). */
export interface AssistantSettings {
  prompt: string
  greeting: string
  language: string
  tools: AssistantTool[]
  /** Absent in what older versions stored. */
  tool_ids?: string[]
  /** Absent in what older versions stored. */
  hand_overs?: HandOver[]
  /** Absent in what older versions stored. */
  callbacks?: { enabled: boolean; queue_id: string | null }
  kb_document_ids: string[]
  model: { model: string; fallback_model: string | null; temperature: number | null; api: 'chat' | 'responses' }
  voice: { voice: string; speed: number }
  turn: { silence_ms: number; no_response_ms: number; interruptible: boolean }
}

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
  const stored: AssistantSettings = JSON.parse(row.settings)
  const shared = await sharedTools(db, tenant, stored.tool_ids ?? [])
  return { ...stored, shared, hand_overs: [...(stored.hand_overs ?? []), ...shared.flatMap(handOverBy)] }
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
