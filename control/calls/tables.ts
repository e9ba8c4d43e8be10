import type { ColumnType, Generated, Selectable } from 'kysely'
import type {
  EndedReason,
  StreamEndedReason,
  StreamFormat,
  StreamMode,
  StreamStatus,
  StreamTracks,
} from '../../media/protocol.ts'
import type { TenantColumns } from '../kernel/store/tenant-columns.ts'
import type { LegStep } from './conductor/steps.ts'

/** Tables of calls and rooms. */
declare module '../kernel/store/tables.ts' {
  interface Database extends CallTables {}
}

export interface CallTables {
  calls: CallTable
  participants: ParticipantTable
  media_streams: MediaStreamTable
  capture_pauses: CapturePauseTable
  capture_changes: CaptureChangeTable
  recordings: RecordingTable
  conference_rooms: ConferenceRoomTable
  session_states: SessionStateTable
  call_keys: CallKeyTable
  pin_tries: PinTryTable
}

/** A pair that a call is found by (`call-keys.ts`). */
export interface CallKeyTable extends TenantColumns {
  name: string
  value: string
  call_id: string
}

/** Wrong PINs that are counted together. */
export interface PinTryTable extends TenantColumns {
  /** A hash of whom or what they are counted by. */
  guesser: string
  count: number
  /** Forgotten then. */
  until: string
}

/** What a conference session has beyond its call. */
export interface SessionStateTable extends TenantColumns {
  /** The session's call ID. */
  id: string
  /** Members are kept out; null: as the room's `lock_on_start` says. */
  locked: number | null
  /** JSON of what the note taker wrote. */
  notes: string | null
  /** The participant who speaks, or did last. */
  active_speaker: Generated<string | null>
}

export type CallStatus =
  | 'queued'
  | 'ringing'
  | 'in_progress'
  | 'held'
  | 'completed'
  | 'busy'
  | 'no_answer'
  | 'failed'
  | 'cancelled'

/**
 * What a call is connected with once it is answered; `park`: music, until somebody does something with it; `callback`: the agent
 * who returns it, already on the line.
 */
export type CallTarget =
  | 'room'
  | 'echo'
  | 'announcement'
  | 'park'
  | 'queue'
  | 'user'
  | 'number'
  | 'callback'
  | 'flow'
  | 'assistant'

export interface CallTable extends TenantColumns {
  id: string
  kind: 'party' | 'conference'
  status: CallStatus
  direction: 'inbound' | 'outbound'
  to_address: string
  from_address: string
  target: CallTarget
  /** The conference room of target `room`, or whose session this is. */
  room_id: string | null
  /** The queue of target `queue`, also when an agent of it has answered. */
  queue_id: string | null
  /** The agent of target `user`, or who answered last. */
  user_id: string | null
  connection_id: string | null
  /** JSON of `StoredAnswering`; null: nobody wants to know who answers. */
  answering: Generated<string | null>
  answered_by: Generated<'human' | 'machine' | 'fax' | 'unknown' | null>
  /** The node whose media process has it. */
  node_id: string | null
  record: number
  /** JSON of `CallCapture`, or null: nothing more than `record` says. */
  capture: Generated<string | null>
  metadata: string
  /** JSON of `CallIdentity`, or null: nothing is known beside `from_address`. */
  identity: Generated<string | null>
  /** JSON of `RedirectedFrom[]`. */
  redirected_from: Generated<string>
  ended_reason: EndedReason | null
  sip_code: number | null
  /** JSON of `LegCause`; null: nobody has said. */
  cause: Generated<string | null>
  created: string
  ringing_at: string | null
  answered_at: string | null
  /** Null exactly as long as the call is running. */
  ended_at: string | null
  /** From the answer to the end, by the clock that no operator sets; null: not measured. */
  duration_ms: Generated<number | null>
  /** When it was answered, or the room of a session opened, by the steady clock of this node. */
  started_ms: Generated<number | null>
  started_on: Generated<string | null>
}

export interface ParticipantTable extends TenantColumns {
  /** The media process's leg ID. */
  id: string
  call_id: string
  /** The conference session that it is, was, or is about to be in. */
  session_call_id: string | null
  /** Changed by `writeLeg` alone. */
  step: ColumnType<LegStep, LegStep, never>
  /** What is played before the leg is hung up, in step `leaving`. */
  leave_prompt: string | null
  leave_reason: EndedReason | null
  /** The step's prompt has been heard to its end. */
  prompted: number
  pin_tries: number
  /** It has proven the PIN before it came, on a guest page. */
  admitted: Generated<number>
  /** `agent`, `party` and `supervisor` were rung for the call: the leg is beside the one that the call is about. */
  role: 'member' | 'moderator' | 'agent' | 'party' | 'supervisor'
  /** What it is rung for; null: it is the call's own leg. */
  ring_id: string | null
  /** Of who is rung: whom the API shows. Null: the call's other end. */
  address: string | null
  /** JSON of whom to dial (`RingTarget`), in step `to_dial`. */
  dial: string | null
  /** The connection that it runs over; null: none, or it is still to be dialled. */
  connection_id: Generated<string | null>
  /**
   * It has called us and is not answered: it rings; hears what we play before its answer; or waits too long for that and is answered now.
   * Null: it is answered, or at once.
   */
  unanswered: Generated<'when_answered' | 'early_media' | 'now' | null>
  /** JSON of where it is led once it is answered; null: where it is. */
  answered_then: Generated<string | null>
  /** It is heard before it has answered. */
  early: Generated<number>
  /** The node whose media process has the leg. */
  node_id: string | null
  /** We keep it on hold; null: we never did. */
  on_hold: number | null
  muted: number
  deaf: number
  /** JSON of what was said of its own audio; null: nothing. */
  audio: Generated<string | null>
  joined_at: string | null
  left_at: string | null
  /** JSON of the last `Quality`; live legs are asked of media. */
  quality: string | null
  /** JSON of `LegCause`; null: nobody has said. */
  cause: Generated<string | null>
  created: string
}

export interface MediaStreamTable extends TenantColumns {
  id: string
  call_id: string
  mode: StreamMode
  url: string
  tracks: StreamTracks
  format: StreamFormat
  custom_parameters: string
  status: StreamStatus
  frames_sent: number
  frames_dropped: number
  frames_received: number
  frames_refused: number
  ended_reason: StreamEndedReason | null
  created: string
}

/** A row exists until media was told to begin, or to stop, what is kept of a running call. */
export interface CaptureChangeTable extends TenantColumns {
  call_id: string
  /** Whose media process has the call. */
  node_id: string | null
  action: 'begin' | 'stop'
}

/** A row exists while the call is paused. */
export interface CapturePauseTable extends TenantColumns {
  /** The leg or room that media holds it by. */
  id: string
  call_id: string
  reason: string | null
  paused_at: string | null
  resumes_at: string | null
  destination_participant_id: string | null
}

export interface RecordingTable extends TenantColumns {
  /** The recorded call's ID. */
  call_id: string
  status: 'recording' | 'ready' | 'failed'
  file: string | null
  sample_rate: number | null
  duration_ms: number | null
  size_bytes: number | null
  channels: string
  segments: string
  created: string
  /** By command: silence until it is resumed. */
  paused: Generated<number>
  /** The file is, by a key of the vault. */
  encrypted: Generated<number>
}

export interface ConferenceRoomTable extends TenantColumns {
  id: string
  name: string
  owner_id: string | null
  active: number
  /** scrypt, see `calls/pin.ts`. */
  pin_hash: string | null
  pin_length: number | null
  moderator_pin_hash: string | null
  moderator_pin_length: number | null
  settings: string
  schedule: string
  /** SHA-256 of the guest link's token, hex. */
  link_hash: string
  created: string
  updated: string
}

export type CallRow = Selectable<CallTable>
export type SessionStateRow = Selectable<SessionStateTable>
export type ParticipantRow = Selectable<ParticipantTable>
export type MediaStreamRow = Selectable<MediaStreamTable>
export type CapturePauseRow = Selectable<CapturePauseTable>
export type RecordingRow = Selectable<RecordingTable>
export type ConferenceRoomRow = Selectable<ConferenceRoomTable>
