import { isFailure } from '../../media/protocol.ts'
import type { ParticipantRow } from '../calls/tables.ts'
import { toneOf } from '../calls/tones.ts'
import { phrase } from '../kernel/phrases.ts'
import { forTenant, tenantOf } from '../kernel/tenancy.ts'
import type { CommandPort } from '../media-link/events.ts'
import type { CallCentreParts } from './deps.ts'
import { holdAudio } from './hold-audio.ts'
import { settingsOf } from './settings/store.ts'
import { speakerOf } from './speaker.ts'
import { findCall, positionOf } from './waiting-calls.ts'

/** Plays the queue's announcement and the caller's position once, and then its hold audio in a loop. */
export async function hold(
  { store: { db }, now, assetFile }: CallCentreParts,
  media: CommandPort<'leg.play'>,
  leg: ParticipantRow,
): Promise<object> {
  const tenant = tenantOf(leg)
  const scoped = forTenant(db, tenant)
  const row = await scoped.find('queue_calls', leg.call_id)
  const queue = row === undefined ? undefined : await scoped.find('queues', row.queue_id)
  if (row === undefined || queue === undefined) return {}
  const settings = settingsOf(queue)
  const { audio_asset_id: asset } = settings.hold
  const speaker = await speakerOf(scoped, settings)
  const { said, loop: sources } = holdAudio(settings, {
    position: await positionOf(db, tenant, row),
    isNew: leg.leave_prompt === null && (row.announce_at === null || row.announce_at === row.joined_at),
    speaker,
    ringback: await toneOf(db, 'ringback', await findCall(db, tenant, leg.call_id)),
    assetFile: asset === null ? null : assetFile(asset),
  })
  if (leg.leave_prompt !== null) {
    said.unshift(phrase('apology', speaker))
    const told = scoped.update('participants').set({ leave_prompt: null }).where('id', '=', leg.id)
    await told.where('step', '=', 'queued').execute()
  }
  let isSaid = false
  // If text cannot be spoken, for example in a language without a voice, only the recorded phrases are played.
  for (const rest of [said, said.filter(source => source.kind === 'speech' && source.recorded !== undefined)]) {
    if (isSaid || rest.length === 0) continue
    const saying = { legId: leg.id, playId: 'hold-said', sources: rest, loop: false, hangupAfter: null }
    const reply = await media.request('leg.play', saying)
    if (isFailure(reply) && reply.failure !== 'invalid') return reply
    isSaid = !isFailure(reply)
  }
  // What leads the caller meanwhile is heard instead.
  if ((await scoped.find('queue_calls', row.id))?.queue_id !== row.queue_id) return {}
  if (row.announce_at !== null) {
    const { announce_position, position_interval_seconds: seconds } = settings.hold
    const announce_at = announce_position ? new Date(now().getTime() + seconds * 1000).toISOString() : null
    const announced = scoped.update('queue_calls').set({ announce_at }).where('id', '=', row.id)
    await announced.where('queue_id', '=', row.queue_id).execute()
  }
  return media.request('leg.play', {
    legId: leg.id,
    playId: 'hold',
    sources,
    loop: true,
    hangupAfter: null,
    ...(isSaid ? { append: true } : {}),
  })
}
