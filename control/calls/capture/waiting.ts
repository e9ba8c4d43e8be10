import type { StreamInput } from '../../capture-settings/stream-input.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { CallRow, MediaStreamRow } from '../tables.ts'
import { type CallCapture, callCaptureOf, NOTHING, type Waiting } from './call-capture.ts'

/** What waits for the other party's consent is kept in the call's own row. Everybody who wants something adds to it. */

/** Joins both; the later settings win. */
export function together(before: Waiting | undefined, more: Waiting): Waiting {
  if (before === undefined) return more
  const known = new Set(before.streams.map(receiverOf))
  return {
    record: before.record || more.record,
    transcribe: before.transcribe || more.transcribe,
    language: more.language ?? before.language,
    encrypted: more.encrypted,
    streams: [...before.streams, ...more.streams.filter(stream => !known.has(receiverOf(stream)))],
  }
}

export const isNothing = ({ record, transcribe, streams }: Waiting): boolean =>
  !record && !transcribe && streams.length === 0

/** Identifies a receiver: equal for streams that send the same to the same place. */
export const receiverOf = ({
  mode = 'fork',
  url,
  tracks = 'inbound',
  format = 'mulaw_8000',
  custom_parameters = {},
}: StreamInput): string => JSON.stringify([mode, url, tracks, format, custom_parameters])

export const inputOf = ({ mode, url, tracks, format, custom_parameters }: MediaStreamRow): StreamInput => ({
  ...{ mode, url, tracks, format },
  custom_parameters: JSON.parse(custom_parameters) as Record<string, string>,
})

export const streamsOf = (db: Db, call: CallRow): Promise<MediaStreamRow[]> =>
  forTenant(db, tenantOf(call)).select('media_streams').selectAll().where('call_id', '=', call.id).execute()

/** What a call that has not started any capture was to capture. */
export async function unbegun(db: Db, call: CallRow): Promise<Waiting> {
  const { transcribe, language, encrypted = false, waiting }: CallCapture = callCaptureOf(call) ?? NOTHING
  const streams = (await streamsOf(db, call)).filter(row => row.ended_reason === null).map(inputOf)
  return together(waiting, { record: call.record === 1, transcribe, language, encrypted, streams })
}
