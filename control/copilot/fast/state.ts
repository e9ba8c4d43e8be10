import type { Meant } from './objections.ts'

/** What the copilot knows about a call. Times are ms since the session began. Plain JSON, which is stored in the session's row. */

export type Party = 'agent' | 'customer' | 'other'
/** Source of a value. `time`: it follows from time or figures, not from words. */
export type By = 'heard' | 'deep' | 'person' | 'time'
export type Path = 'fast' | 'deep'

/** A reason for a slot to have a value. */
export interface Claim {
  value: string
  by: Exclude<By, 'person'>
  /** IDs of the utterances behind it; empty: changed words cannot withdraw it. */
  utterances: string[]
}

/** Something with one value or none: an item that is done, a field, an alert. What is shown of it always matches its value. */
export interface Slot {
  /** The last claim counts. */
  claims: Claim[]
  /** What a person has decided overrides all claims. */
  person: { value: string | null } | null
  told: { value: string; seq: number } | null
  atMs: number
  /** Further data: a score, an answer. */
  more?: Record<string, unknown>
  /** Supervisors have been notified. */
  noticed?: true
  /** The message that a person dismissed. Supervisors are still notified of its alert. */
  dismissed?: number
}

/** An utterance, finished or not, as far as figures need it. */
interface Span {
  id: string
  party: Party
  fromMs: number
  toMs: number
  words: number
  isFinal: boolean
}

export interface CopilotState {
  version: 1
  /** Number of the last message. */
  seq: number
  nowMs: number
  /** Time of the beginning, ISO 8601 UTC. */
  startedAt: string
  slots: Record<string, Slot>
  /** Utterances of the last two minutes, and unfinished ones. */
  spans: Span[]
  /** When somebody last spoke, or silence was last expected, as on hold. */
  voiceMs: number
  /** Since when the agent has been speaking without a turn of the customer; null: not now. */
  monologueMs: number | null
  /** Keys of the fields that were asked for last. */
  asked: { keys: string[]; atMs: number }
  /** The customer's sentiment, -1 to 1. */
  sentiment: number
  /** By alert: the occurrences that were counted. */
  counts: Record<string, string[]>
  /** Conditions of time and figures that hold, by nudge or alert. Each causes one message until it ends. */
  holding: Record<string, true>
  /** IDs of passages that were shown. */
  shown: string[]
  isOver: boolean
}

export const newState = (startedAt: string): CopilotState => ({
  version: 1,
  seq: 0,
  nowMs: 0,
  startedAt,
  slots: {},
  spans: [],
  voiceMs: 0,
  monologueMs: null,
  asked: { keys: [], atMs: 0 },
  sentiment: 0,
  counts: {},
  holding: {},
  shown: [],
  isOver: false,
})

export const MESSAGE_TYPES = [
  'stage',
  'checklist',
  'objection',
  'card',
  'field',
  'nudge',
  'alert',
  'compliance',
  'script',
  'transcript',
  'sentiment',
  'summary',
] as const
export type MessageType = (typeof MESSAGE_TYPES)[number]

/** A message to the desktop. IDs are made from the numbers when it is stored. */
export interface Outgoing {
  seq: number
  type: MessageType
  path: Path
  utterances: string[]
  /** Number of the message that it replaces. */
  replaces: number | null
  /** Number of the message that it withdraws. */
  withdraws: number | null
  body: Record<string, unknown>
  /** When the words that led to it ended; null: no words did. */
  wordsEndMs: number | null
}

/** An alert for supervisors. */
export interface Notice {
  seq: number
  alert: Record<string, unknown>
  utterances: string[]
}

export interface Passage {
  id: string
  documentId: string
  text: string
  score: number
}

export interface SaidInput {
  kind: 'said'
  atMs: number
  id: string
  party: Party
  text: string
  isFinal: boolean
  fromMs: number
  toMs: number
  /** The customer is on hold and does not hear it. */
  isAside?: boolean
  /** Earlier words are to be shown differently, because of words that ended then [ms]; null: because time has passed. */
  again?: { becauseMs: number | null }
  /** Passages of the knowledge base that fit, best first; and by objection, those for it. */
  passages?: readonly Passage[]
  onObjection?: Readonly<Record<string, readonly Passage[]>>
  /** The meaning of its sentences by a provider's vectors, as far as it is known. */
  meant?: Meant
}

export type CopilotInput =
  | SaidInput
  /** An unfinished utterance was nothing, or must not be known. */
  | { kind: 'unsaid'; atMs: number; id: string }
  /** The meaning of a customer's words has become known. */
  | (Pick<SaidInput, 'atMs' | 'id' | 'text' | 'toMs' | 'onObjection'> & { kind: 'meant'; meant: Meant })
  /** `isQuiet`: silence is expected, on hold or in a card-payment pause. */
  | { kind: 'tick'; atMs: number; isQuiet: boolean }
  | { kind: 'check'; atMs: number; item: string; done: boolean }
  | { kind: 'field'; atMs: number; key: string; value: string | null }
  | { kind: 'stage'; atMs: number; key: string }
  | { kind: 'dismiss'; atMs: number; seq: number }
  /** The answer to a question of the agent, shown as a card. */
  | { kind: 'asked'; atMs: number; path: Path; body: Record<string, unknown> }
  | { kind: 'judged'; atMs: number; utterances: string[]; wordsEndMs: number | null; verdicts: readonly Verdict[] }
  | {
      kind: 'told'
      atMs: number
      type: MessageType
      path: Path
      body: Record<string, unknown>
      replaces?: number | null
      /** The utterances that led to it, and when they ended; absent: none. */
      utterances?: string[]
      wordsEndMs?: number | null
    }
  | { kind: 'end'; atMs: number }

/** The deep path's value for a slot; null: the fast path was wrong. */
export interface Verdict {
  slot: string
  value: string | null
  more?: Record<string, unknown>
}

export interface Outcome {
  state: CopilotState
  messages: Outgoing[]
  notices: Notice[]
}
