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
import type { LegStep } from './steps/table.ts'

/** Tables of calls and rooms. */
declare module '../kernel/store/tables.ts' {
  interface Database {
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
}

/** A key by which a call is found (`call-keys.ts`). */
export interface CallKeyTable extends TenantColumns {
  name: string
  value: string
  call_id: string
}

/** Wrong PINs that are counted together. */
export interface PinTryTable extends TenantColumns {
  /** A hash of what they are counted by. */
  guesser: string
  count: number
  /** When they are forgotten. */
  until: string
}

/** Additional columns of a conference session. */
export interface SessionStateTable extends TenantColumns {
  /** The session's call ID. */
  id: string
  /** Members are kept out; null: as the room's `lock_on_start` says. */
  locked: number | null
  /** JSON of what the note taker wrote. */
  notes: string | null
  /** The participant who is speaking, or spoke last. */
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
 * The target of a call after its answer. `park`: music, until something else is requested. `callback`: the agent who returns it, already
 * connected.
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
  /** The conference room of target `room`, or of this session. */
  room_id: string | null
  /** The queue of target `queue`; also after one of its agents has answered. */
  queue_id: string | null
  /** The agent of target `user`, or the last one to answer. */
  user_id: string | null
  connection_id: string | null
  /** JSON of `StoredAnswering`; null: no detection. */
  answering: Generated<string | null>
  answered_by: Generated<'human' | 'machine' | 'fax' | 'unknown' | null>
  /** The node whose media process has it. */
  node_id: string | null
  record: number
  /** JSON of `CallCapture`; null: nothing beyond `record`. */
  capture: Generated<string | null>
  metadata: string
  /** JSON of `CallIdentity`; null: nothing is known beyond `from_address`. */
  identity: Generated<string | null>
  /** JSON of `RedirectedFrom[]`. */
  redirected_from: Generated<string>
  ended_reason: EndedReason | null
  sip_code: number | null
  /** JSON of `LegCause`; null: not stated. */
  cause: Generated<string | null>
  created: string
  ringing_at: string | null
  answered_at: string | null
  /** Null exactly while the call is running. */
  ended_at: string | null
  /** From the answer to the end, by the steady clock; null: not measured. */
  duration_ms: Generated<number | null>
  /** When it was answered, or a session's room opened, by the steady clock of this node. */
  started_ms: Generated<number | null>
  started_on: Generated<string | null>
}

export interface ParticipantTable extends TenantColumns {
  /** The media process's leg ID. */
  id: string
  call_id: string
  /** The conference session that it is, was, or will soon be in. */
  session_call_id: string | null
  /** Written only by `writeLeg`. */
  step: ColumnType<LegStep, LegStep, never>
  /** What is played before the leg is hung up, in step `leaving`; in `queued` what a caller is told once, who waits on. */
  leave_prompt: string | null
  leave_reason: EndedReason | null
  /** The prompt of the step has been heard to its end. */
  prompted: number
  pin_tries: number
  pin_proved: Generated<number>
  /** Into its room, though it is locked: it was dialled from within, or has waited for the moderator who came. */
  let_in: Generated<number>
  /** `agent`, `party` and `supervisor` were rung for the call: they are additional to the call's own leg. */
  role: 'member' | 'moderator' | 'agent' | 'party' | 'supervisor'
  /** The ring that it answers; null: it is the call's own leg. */
  ring_id: string | null
  /** For a rung leg, the address that the API shows. Null: the call's other end. */
  address: string | null
  /** JSON of the target to dial (`RingTarget`), in step `to_dial`. */
  dial: string | null
  /** The connection that it uses; null: none, or it is still to be dialled. */
  connection_id: Generated<string | null>
  /**
   * An inbound leg that is not answered: it rings, hears early media, or has waited too long and is answered `now`. Null: it is answered, or
   * will be at once.
   */
  unanswered: Generated<'when_answered' | 'early_media' | 'now' | null>
  /** JSON of where it is led once it is answered; null: it stays. */
  answered_then: Generated<string | null>
  /** It is heard before its answer. */
  early: Generated<number>
  /** The node whose media process has the leg. */
  node_id: string | null
  /** On hold by us; null: it never was. */
  on_hold: number | null
  /** Its far end says, by its own description, that it holds. */
  holds: Generated<number>
  muted: number
  deaf: number
  /** JSON of its own audio settings; null: none. */
  audio: Generated<string | null>
  joined_at: string | null
  left_at: string | null
  /** JSON of the last `Quality`; for live legs media is asked. */
  quality: string | null
  /** JSON of `LegCause`; null: not stated. */
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

/** A row exists until media has been told to start, or to stop, the capture of a running call. */
export interface CaptureChangeTable extends TenantColumns {
  call_id: string
  /** The node whose media process has the call. */
  node_id: string | null
  action: 'begin' | 'stop'
}

/** A row exists while the call is paused. */
export interface CapturePauseTable extends TenantColumns {
  /** The leg or room by which media identifies it. */
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
  /** Paused by command: silence until it is resumed. */
  paused: Generated<number>
  /** The file is encrypted, with a key from the vault. */
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
