import {
  cutTo,
  type EndedReason,
  type EventName,
  type Events,
  type MediaEvent,
  type Utterance,
} from '../../media/protocol.ts'

/** What happened to a ring of a program. `ring_ended` with `talked` false: nobody answered; true: the answerer has left. */
export type LedRing =
  | { kind: 'ring_answered'; ringId: string; legId: string }
  | { kind: 'ring_ended'; ringId: string; reason: EndedReason; talked: boolean }

/** Events of a call, as the program that leads it sees them. Times are ISO 8601 in UTC. */
export type ProgramInput =
  | { kind: 'collected'; collectId: string; digits: string; utterance: Utterance | null }
  | { kind: 'play_started'; playId: string; clockMs: number }
  | { kind: 'played'; playId: string; ended: Events['play.finished']['ended']; heardMs: number }
  | { kind: 'speech_started'; at: string }
  | { kind: 'utterance'; utterance: Utterance }
  | LedRing
  | { kind: 'recorded'; recordingId: string; durationMs: number | null }

/** An input that waits in the database. */
export interface WaitingInput {
  id: string
  input: ProgramInput
}

/** Events of media that programs, or the records of their calls, need. */
const HEARD_EVENTS = [
  'leg.answered',
  'leg.collected',
  'leg.ended',
  'leg.speech_started',
  'leg.utterance',
  'play.finished',
  'play.started',
  'recording.failed',
  'recording.ready',
  'room.opened',
  'transcript.ready',
  'transcript.segment',
] as const

export const HEARD: ReadonlySet<EventName> = new Set(HEARD_EVENTS)

export type HeardEvent = MediaEvent & { name: (typeof HEARD_EVENTS)[number] }

/** The input that a program gets for an event of its leg; null: none. */
export function inputOfEvent(event: HeardEvent): ProgramInput | null {
  const { at } = event
  switch (event.name) {
    case 'leg.collected': {
      const { collectId, digits, utterance } = event.body
      return { kind: 'collected', collectId, digits, utterance: utterance && clipped(utterance) }
    }
    case 'play.started':
      return { kind: 'play_started', playId: event.body.playId, clockMs: event.body.clockMs }
    case 'play.finished': {
      const { playId, ended, heardMs } = event.body
      return { kind: 'played', playId, ended, heardMs }
    }
    case 'leg.speech_started':
      return { kind: 'speech_started', at }
    case 'leg.utterance':
      return { kind: 'utterance', utterance: clipped(event.body.utterance) }
    default:
      return null
  }
}

/** Maximum length of an utterance [characters], since a speech provider may return a text of any length. */
const MAX_HEARD = 2000
const clipped = (utterance: Utterance): Utterance => ({ ...utterance, text: cutTo(utterance.text, MAX_HEARD) })
