import type { Meant } from './objections.ts'

/** What the copilot knows of a call. Times are ms since the session's beginning. JSON, so that it lies in the session's row. */

export type Party = 'agent' | 'customer' | 'other'
/** `time`: nobody said it; the clock did. */
export type By = 'heard' | 'deep' | 'person' | 'time'
export type Path = 'fast' | 'deep'

/** Somebody's words, or the clock, for a value. */
export interface Claim {
  value: string
  by: Exclude<By, 'person'>
  /** Whose words; empty: it cannot be taken back by words. */
  utterances: string[]
}

/** Something that has one value or none: an item that is done, a field, an alert. What is told of it always is what it is. */
export interface Slot {
  /** The last one counts. */
  claims: Claim[]
  /** What a person decided wins over all claims. */
  person: { value: string | null } | null
  told: { value: string; seq: number } | null
  atMs: number
  /** What is beyond the value: a score, an answer. */
  more?: Record<string, unknown>
  /** Supervisors were told. */
  noticed?: true
  /** The message that a person put away: supervisors are told of its alert all the same. */
  dismissed?: number
}

/** Words that are still being said, or that were: as far as figures need them. */
export interface Span {
  id: string
  party: Party
  fromMs: number
  toMs: number
  words: number
  isFinal: boolean
}

export interface CopilotState {
  version: 1
  /** Of the last message. */
  seq: number
  nowMs: number
  /** Wall time of the beginning, ISO-8601 UTC. */
  startedAt: string
  slots: Record<string, Slot>
  /** The last two minutes, and what is being said. */
  spans: Span[]
  /** When somebody last spoke, or the call was quiet for a reason. */
  voiceMs: number
  /** Since when the agent speaks without a word of the customer's; null: he does not. */
  monologueMs: number | null
  /** The fields that were asked for last. */
  asked: { keys: string[]; atMs: number }
  /** How the customer feels, -1 to 1. */
  sentiment: number
  /** By alert: the utterances in which it was heard. */
  counts: Record<string, string[]>
  /** Conditions of time and figures that hold, by nudge or alert: each is told once until it is over. */
  holding: Record<string, true>
  /** Passages that were shown. */
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

/** What is told; the one who stores it makes IDs of the numbers. */
export interface Outgoing {
  seq: number
  type: MessageType
  path: Path
  utterances: string[]
  /** Takes the place of this one. */
  replaces: number | null
  /** This one no longer holds. */
  withdraws: number | null
  body: Record<string, unknown>
  /** The end of the words that led to it; null: no words did. */
  wordsEndMs: number | null
}

/** An alert that supervisors are told of. */
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
  /** The customer is on hold, and does not hear it. */
  isAside?: boolean
  /** What was said before is to be shown otherwise, because of words that ended then [ms]; null: because of the clock. */
  again?: { becauseMs: number | null }
  /** What the knowledge base has on it, best first; by objection, what it has on that. */
  passages?: readonly Passage[]
  onObjection?: Readonly<Record<string, readonly Passage[]>>
  /** What its sentences mean by a provider's vectors, as far as that is known. */
  meant?: Meant
}

export type CopilotInput =
  | SaidInput
  /** What was being said is not to be known, or was nothing. */
  | { kind: 'unsaid'; atMs: number; id: string }
  /** What words of a customer's mean has become known. */
  | (Pick<SaidInput, 'atMs' | 'id' | 'text' | 'toMs' | 'onObjection'> & { kind: 'meant'; meant: Meant })
  /** `isQuiet`: nobody is to be heard, on hold or in a card-payment pause. */
  | { kind: 'tick'; atMs: number; isQuiet: boolean }
  | { kind: 'check'; atMs: number; item: string; done: boolean }
  | { kind: 'field'; atMs: number; key: string; value: string | null }
  | { kind: 'stage'; atMs: number; key: string }
  | { kind: 'dismiss'; atMs: number; seq: number }
  /** The agent has asked: the answer is shown as a card. */
  | { kind: 'asked'; atMs: number; path: Path; body: Record<string, unknown> }
  | { kind: 'judged'; atMs: number; utterances: string[]; wordsEndMs: number | null; verdicts: readonly Verdict[] }
  | {
      kind: 'told'
      atMs: number
      type: MessageType
      path: Path
      body: Record<string, unknown>
      replaces?: number | null
      /** Whose words led to it, and when they ended; absent: none did. */
      utterances?: string[]
      wordsEndMs?: number | null
    }
  | { kind: 'end'; atMs: number }

/** What the deep path makes of a slot; `value` null: the fast path was wrong. */
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
