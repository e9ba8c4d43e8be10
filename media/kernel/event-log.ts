import type { Logger } from 'pino'
import type { EventName, MediaEvent } from '../protocol.ts'

/** Events that are lifecycle changes, with the fields of their log lines. None includes pressed keys. */
const LOGGED: { [N in EventName]?: (body: Extract<MediaEvent, { name: N }>['body']) => object } = {
  'leg.incoming': ({ legId, to, from, source, sipCallId }) => ({
    legId,
    to: to.uri,
    from: from.uri,
    source,
    sipCallId,
  }),
  'leg.answered': body => body,
  'leg.joined': body => body,
  'leg.left': body => body,
  'leg.one_way': body => body,
  'leg.fax_tone': body => body,
  'leg.answered_by': body => body,
  'leg.message_ended': body => body,
  'leg.quality': body => body,
  'leg.fax': body => body,
  'leg.ended': ({ others: _, ...body }) => body,
  'capture.changed': ({ target, state, by }) => ({ target, paused: state.paused, by }),
  'stream.changed': ({ request: _, ...body }) => body,
  'recording.ready': ({ recordingId, durationMs }) => ({ recordingId, durationMs }),
  'recording.failed': body => body,
  'transcript.ready': body => body,
  'connection.changed': body => body,
}

/** Writes the line of an event, if it has one. */
export function logEvent(log: Logger, event: MediaEvent): void {
  const fields = LOGGED[event.name] as ((body: unknown) => object) | undefined
  if (fields !== undefined) log.info(fields(event.body), event.name)
}
