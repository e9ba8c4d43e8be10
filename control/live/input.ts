import type { Events, Utterance } from '../../media/protocol.ts'
import type { LedRing } from '../queues/deps.ts'

/** What happens to a call that a program leads, as the program gets to know it. Times are ISO-8601 UTC. */
export type ProgramInput =
  | { kind: 'collected'; collectId: string; digits: string; utterance: Utterance | null }
  | { kind: 'play_started'; playId: string; at: string }
  | { kind: 'played'; playId: string; ended: Events['play.finished']['ended']; heardMs: number }
  | { kind: 'speech_started'; bargedIn: boolean; at: string }
  | { kind: 'utterance'; utterance: Utterance }
  | LedRing
  | { kind: 'recorded'; recordingId: string; durationMs: number | null }

/** An input as it waits in the database. */
export interface WaitingInput {
  id: string
  input: ProgramInput
}
