import type { TSchema } from 'typebox'
import Type from 'typebox'

interface EventKind {
  /** The schema of `data.object`. */
  object: TSchema
}

const anyObject = Type.Object({}, { additionalProperties: true })
const kind = (object: TSchema): EventKind => ({ object })

/** Every event type that the product emits; all lists of types are derived from this one. */
export const EVENTS = {
  'call.created': kind(anyObject),
  'call.ringing': kind(anyObject),
  'call.answered': kind(anyObject),
  'call.held': kind(anyObject),
  'call.resumed': kind(anyObject),
  'call.ended': kind(anyObject),
  'call.dtmf': kind(anyObject),
  'call.pci.paused': kind(anyObject),
  'call.pci.resumed': kind(anyObject),
  'call.stream.started': kind(anyObject),
  'call.stream.reconnecting': kind(anyObject),
  'call.stream.stopped': kind(anyObject),
  'call.stream.failed': kind(anyObject),
  'call.recording.ready': kind(anyObject),
  'call.recording.failed': kind(anyObject),
  'conference.started': kind(anyObject),
  'conference.participant.joined': kind(anyObject),
  'conference.participant.left': kind(anyObject),
  'conference.ended': kind(anyObject),
  'phone_number.created': kind(anyObject),
} as const satisfies Record<string, EventKind>

export type EventType = keyof typeof EVENTS
export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]
