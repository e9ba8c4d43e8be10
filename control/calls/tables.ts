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
    media_streams: MediaStreamRow
    capture_pauses: CapturePauseRow
    capture_changes: CaptureChangeTable
    recordings: RecordingTable
    conference_rooms: ConferenceRoomRow
    session_states: SessionStateTable
    call_keys: CallKeyTable
    pin_tries: PinTryTable
  }
}

/** A key by which a call is found (`call-keys.ts`). */
interface CallKeyTable extends TenantColumns {
  name: string
  value: string
  call_id: string
}

/** A count of wrong PINs, by who entered them. */
interface PinTryTable extends TenantColumns {
  /** Hash of what they are counted by, such as the caller's number. */
  guesser: string
  count: number
  /** When they are forgotten. */
  until: string
}

/** Additional columns of a conference session. */
interface SessionStateTable extends TenantColumns {
  /** The session's call ID. */
  id: string
  /** 1: no more members get in; null: the room's `lock_on_start` decides. */
  locked: number | null
  /** JSON of what the note taker wrote. */
  notes: string | null
  /** The participant who is speaking, or spoke last. */
  active_speaker: Generated<string | null>
}

export const CALL_STATUSES = [
  'queued',
  'ringing',
  'in_progress',
  'held',
  'completed',
  'busy',
  'no_answer',
  'failed',
  'cancelled',
] as const
export type CallStatus = (typeof CALL_STATUSES)[number]

/**
 * Where a call is led once it is answered. `park`: it hears music until something else is requested. `callback`: it returns a callback, and the
 * agent is connected already.
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

interface CallTable extends TenantColumns {
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
  /** From the answer to the end, by the monotonic clock; null: not measured. */
  duration_ms: Generated<number | null>
  /** When it was answered, or a session's room was opened, by the monotonic clock of the node `started_on`. */
  started_ms: Generated<number | null>
  started_on: Generated<string | null>
}

interface ParticipantTable extends TenantColumns {
  /** The media process's leg ID. */
  id: string
  call_id: string
  /** The conference session that the leg is or was in, or is about to join. */
  session_call_id: string | null
  /** Written only by `writeLeg`. */
  step: ColumnType<LegStep, LegStep, never>
  /** The prompt or phrase before the hang-up, or `BUSY_TONE`; empty: only goodbye. In step `queued`: an apology, heard once by the waiting caller. */
  leave_prompt: string | null
  leave_reason: EndedReason | null
  /** 1: the prompt of the leg's step was played, or what the step sends has reached media. */
  prompted: number
  /** Another number whenever the leg is to do or hear something else. */
  revision: Generated<number>
  pin_tries: number
  pin_proved: Generated<number>
  /** 1: enters its room even if that is locked: a participant had it dialled, or it waited and was admitted. */
  let_in: Generated<number>
  /** `agent`, `party` and `supervisor`: rung for the call, in addition to its own leg. */
  role: 'member' | 'moderator' | 'agent' | 'party' | 'supervisor'
  /** The ring for which the leg was dialled; null: it is the call's own leg. */
  ring_id: string | null
  /** The address that the API shows for a rung leg; null: that of the call's far end. */
  address: string | null
  /** JSON of the target to dial (`RingTarget`), in step `to_dial`. */
  dial: string | null
  /** The connection that the leg uses; null: none, or the leg is still to be dialled. */
  connection_id: Generated<string | null>
  /**
   * Of an inbound leg that is not answered yet: when that is due. `early_media`: it hears audio meanwhile. `now`: it has waited too long. Null: it
   * is answered, or will be at once.
   */
  unanswered: Generated<'when_answered' | 'early_media' | 'now' | null>
  /** JSON of where the leg is led once it is answered; null: nowhere else. */
  answered_then: Generated<string | null>
  /** 1: the leg sends early media, which the caller hears. */
  early: Generated<number>
  /** The node whose media process has the leg. */
  node_id: string | null
  /** 1: we have it on hold; null: it never was. */
  on_hold: number | null
  /** 1: its far end holds us, according to its SDP. */
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
  /** JSON of the API request (`Cause`) that ends it; null: none does. */
  ended_by: Generated<string | null>
  created: string
}

export interface MediaStreamRow extends TenantColumns {
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
  ended_detail: string | null
  created: string
}

/** A row exists until media has been told to start, or to stop, the capture of a running call. */
interface CaptureChangeTable extends TenantColumns {
  call_id: string
  /** The node whose media process has the call. */
  node_id: string | null
  action: 'begin' | 'stop'
}

/** A row exists while the call is paused. */
export interface CapturePauseRow extends TenantColumns {
  /** The leg or room by which media identifies it. */
  id: string
  call_id: string
  reason: string | null
  paused_at: string | null
  resumes_at: string | null
  destination_participant_id: string | null
}

interface RecordingTable extends TenantColumns {
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

export interface ConferenceRoomRow extends TenantColumns {
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
export type RecordingRow = Selectable<RecordingTable>
