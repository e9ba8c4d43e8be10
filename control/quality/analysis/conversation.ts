import type { CallRow, ParticipantRow } from '../../calls/tables.ts'
import { profileSettings } from '../../copilot/profile.ts'
import type { ProfileSettings } from '../../copilot/schema.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'
import { settingsOf } from '../../queues/settings/store.ts'
import { type Heard, heardIn } from './heard.ts'
import { plainWords, stemOf } from './words.ts'

type Side = 'agent' | 'customer' | 'product'

/** Something that was said. */
export interface Line {
  /** The segment's ID. */
  id: string
  participantId: string
  side: Side
  text: string
  startMs: number
  endMs: number
  stems: string[]
}

export interface Profile {
  id: string
  version: number
  settings: ProfileSettings
}

/** A call in the form for analysis. */
export interface Conversation {
  call: CallRow
  /** In order of their beginning, without supervisors, whom no customer hears. */
  lines: Line[]
  /** Language that the recogniser was set to, or that the letters show; null: unknown. */
  language: string | null
  /** The profile that the copilot's session has stored, otherwise the current one of the call's queue. */
  profile: Profile | null
  heard: Heard | null
  durationMs: number
}

/** Maximum number of lines, more than the longest call has. */
const MAX_LINES = 20_000

/** Null: there is no such call, or it has no transcript. */
export async function readConversation(db: Db, tenant: Tenant, callId: string): Promise<Conversation | null> {
  const scoped = forTenant(db, tenant)
  const call = await scoped.find('calls', callId)
  const transcript = await scoped.find('transcripts', callId)
  if (call === undefined || transcript === undefined) return null
  const legs = await scoped.select('participants').selectAll().where('call_id', '=', callId).execute()
  const sides = sidesOf(legs)
  const segments = await scoped
    .select('transcript_segments')
    .selectAll()
    .where('call_id', '=', callId)
    .orderBy('start_ms')
    .orderBy('id')
    .limit(MAX_LINES)
    .execute()
  // Redacted by the current rules, which may be newer than the transcript.
  const redact = await redactorOf(db, tenant)
  const lines = segments.flatMap(({ id, participant_id, speaker, text: written, start_ms, end_ms }): Line[] => {
    const text = redact(written)
    const side = speaker === 'product' ? 'product' : sides.get(participant_id)
    const said = { id, participantId: participant_id, text, startMs: start_ms, endMs: end_ms }
    return side === undefined ? [] : [{ ...said, side, stems: plainWords(text).map(stemOf) }]
  })
  if (lines.length === 0) return null
  const heard = await heardIn(db, tenant, callId)
  const profile = heard?.profile ?? (await profileOf(db, tenant, call))
  return {
    call,
    lines,
    profile,
    heard,
    language: transcript.language ?? languageOf(lines),
    durationMs: transcript.duration_ms ?? lines.at(-1)?.endMs ?? 0,
  }
}

/**
 * Which side each speaker is on. The call's own leg is the customer, unless a member placed the call; then the called party is. Others
 * who join, a colleague or the target of a transfer, are on our side.
 */
function sidesOf(legs: readonly ParticipantRow[]): Map<string, Side> {
  const isPlaced = legs.some(leg => leg.ring_id === null && leg.role === 'agent')
  const sideOf = (leg: ParticipantRow): Side | undefined => {
    if (leg.role === 'supervisor') return undefined
    if (leg.role === 'agent') return 'agent'
    return isPlaced === (leg.role === 'party') ? 'customer' : 'agent'
  }
  return new Map(
    legs.flatMap((leg): [string, Side][] => {
      const side = sideOf(leg)
      return side === undefined ? [] : [[leg.id, side]]
    }),
  )
}

async function profileOf(db: Db, tenant: Tenant, call: CallRow): Promise<Profile | null> {
  const queue = call.queue_id === null ? undefined : await forTenant(db, tenant).find('queues', call.queue_id)
  const id = queue === undefined ? null : settingsOf(queue).copilot_profile_id
  return id === null ? null : readProfile(db, tenant, id)
}

async function readProfile(db: Db, tenant: Tenant, id: string): Promise<Profile | null> {
  const row = await forTenant(db, tenant).find('copilot_profiles', id)
  return row === undefined ? null : { id, version: row.version, settings: profileSettings(row) }
}

/** Two alphabets are distinguished by their letters; others are not classified. */
function languageOf(lines: readonly Line[]): string | null {
  const text = lines.map(line => line.text).join(' ')
  const count = (letters: RegExp): number => text.match(letters)?.length ?? 0
  const [latin, hebrew] = [count(/\p{Script=Latin}/gu), count(/\p{Script=Hebrew}/gu)]
  if (hebrew > latin) return 'he'
  // Offline recognition understands only English, and a provider reports the language.
  return latin > 0 ? 'en' : null
}
