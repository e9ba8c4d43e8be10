import { type Failure, isFailure, isStarted, isUndecided } from '../../../media/protocol.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { rowBy } from '../../kernel/store/compiled.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, tenantOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { applyRecording, applyStream, endStream, STOPPED } from '../records.ts'
import type { Of } from '../steps/event-handler.ts'
import { follow } from '../steps/follow.ts'
import type { CallRow, MediaStreamRow } from '../tables.ts'
import { callCaptureOf, encryptsRecordings } from './call-capture.ts'
import { changedCalls, forgetChange } from './changes.ts'
import { type StreamDeps, startStream, unstartedStreams } from './streams.ts'
import { refuseTranscript } from './transcript-rows.ts'
import { beginTranscript, runningTranscript } from './transcripts.ts'
import { streamsOf } from './waiting.ts'

interface CallAudioDeps {
  store: Store
  now: () => string
  log: { warn(fields: object, message: string): void }
  streams: StreamDeps
}

/** The recording and streams of a call, and the pauses of both. */
export class CallAudio {
  readonly #deps: CallAudioDeps

  constructor(deps: CallAudioDeps) {
    this.#deps = deps
  }

  /** Starts everything that the rows of a running call ask for. What runs already answers `conflict`. */
  async keep(callId: string, media: MediaPort): Promise<void> {
    const { store, now } = this.#deps
    const call = await rowBy(store.db, 'calls', { id: callId })
    if (call === undefined || call.ended_at !== null) return forgetChange(store, callId)
    const change = await rowBy(store.db, 'capture_changes', { call_id: callId })
    if (change?.action === 'stop') return this.#stop(call, media)
    if (call.answered_at === null) return
    await this.start(call, media)
    const transcript = await runningTranscript(store.db, callId)
    if (transcript !== undefined) await beginTranscript({ store, now: () => new Date(now()) }, media, transcript)
    if (change !== undefined) await forgetChange(store, callId, 'begin')
  }

  /** Applies changes that other nodes made, or that a process died before sending to media, each in the turn of its call. */
  async keepDue(): Promise<void> {
    const { db, followUps } = this.#deps.store
    for (const key of await changedCalls(db)) followUps.begin({ key, run: ({ media }) => this.keep(key, media) })
  }

  /** The other party has withdrawn consent: all capture of the call stops. What media does not know has ended, or does not begin. */
  async #stop(call: CallRow, media: MediaPort): Promise<void> {
    if (call.answered_at === null && callCaptureOf(call)?.asked !== 'asking') return
    const { store, now } = this.#deps
    const recording = await media.request('recording.stop', { recordingId: call.id })
    const transcript = await media.request('transcript.stop', { transcriptId: call.id })
    for (const { id: streamId } of await streamsOf(store.db, call)) {
      const reply = await media.request('stream.stop', { streamId })
      await media.settled()
      if (isUndecided(reply)) return
      await store.transaction(async trx => {
        const row = await rowBy(trx, 'media_streams', { id: streamId })
        if (row === undefined) return
        await (isFailure(reply) ? endStream(trx, row, now(), STOPPED) : applyStream(trx, row, reply, now()))
      })
    }
    // Without an answer it is retried (`keepDue`).
    if (isUndecided(recording) || isUndecided(transcript)) return
    // What an announcement is about, to which nobody need agree, begins by itself when the caller hears it, and is stopped then.
    const capture = callCaptureOf(call)
    if (capture?.asked === 'asking' && (capture.later ?? capture).consent === null) return
    await media.settled()
    await store.transaction(async trx => {
      const change = trx.deleteFrom('capture_changes').where('call_id', '=', call.id).where('action', '=', 'stop')
      // A consent that has been given again begins it.
      if ((await change.executeTakeFirst()).numDeletedRows === 0n) return
      if (isFailure(recording)) await applyRecording(trx, call.id, null, now())
      if (isFailure(transcript)) await refuseTranscript(trx, call)
    })
  }

  /** Starts the recording and the streams that a call's rows ask for. What runs already answers `conflict`. */
  async start(call: CallRow, media: MediaPort): Promise<void> {
    // What the question is about begins by itself when the caller has heard it, or has agreed.
    if (callCaptureOf(call)?.asked === 'asking') return
    const { db } = this.#deps.store
    const change = callCaptureOf(call) && (await rowBy(db, 'capture_changes', { call_id: call.id, action: 'stop' }))
    if (change != null && callCaptureOf(call)?.asked !== 'agreed') return this.#stop(call, media)
    const recordings = forTenant(db, tenantOf(call))
    if ((await recordings.findBy('recordings', { call_id: call.id, status: 'recording' })) !== undefined)
      await this.#startRecording(call, media)
    for (const row of await unstartedStreams(db, call)) await this.#startStream(call, row, media)
  }

  async #startRecording(call: CallRow, media: MediaPort): Promise<void> {
    const { store, log, now } = this.#deps
    // Its own room, or a session's: everybody who is ever in it, and what the product plays there.
    const reply = await media.request('recording.start', {
      recordingId: call.id,
      target: { roomId: call.id },
      encrypted: await encryptsRecordings(store.db, tenantOf(call)),
    })
    if (!isFailure(reply) || isRunningOrUnknown(reply)) return
    // Media has reported what was recorded before this answer; if nothing was, it will not report at all.
    if (!(await this.#hasEnded(call, media)))
      log.warn({ callId: call.id, ...reply }, 'a recording could not be started')
    await store.transaction(trx => applyRecording(trx, call.id, null, now()))
  }

  async #startStream(call: CallRow, row: MediaStreamRow, media: MediaPort): Promise<void> {
    const { store, streams, log, now } = this.#deps
    const reply = await startStream(store.db, streams, media, call, row)
    if (!isFailure(reply) || isRunningOrUnknown(reply)) return
    const hasEnded = await this.#hasEnded(call, media)
    if (!hasEnded) log.warn({ callId: call.id, streamId: row.id, ...reply }, 'a stream could not be started')
    const failed = { status: 'failed', endedReason: 'connect_failed', endedDetail: reply.message } as const
    await store.transaction(async trx => {
      const current = await rowBy(trx, 'media_streams', { id: row.id })
      if (current !== undefined) await endStream(trx, current, now(), hasEnded ? undefined : failed)
    })
  }

  /** Whether the call was over before media's last answer: then there was nothing left to capture. */
  async #hasEnded({ id }: CallRow, media: MediaPort): Promise<boolean> {
    await media.settled()
    return (await rowBy(this.#deps.store.db, 'calls', { id }))?.ended_at !== null
  }

  async streamChanged(trx: Trx, { body, at }: Of<'stream.changed'>): Promise<void> {
    const row = await rowBy(trx, 'media_streams', { id: body.streamId })
    if (row === undefined) return
    await applyStream(trx, row, body, at)
    // It was stopped while its start was on the way.
    if (row.ended_reason !== null && body.endedReason === null)
      follow(trx, row.call_id, async ({ media }) => void (await media.request('stream.stop', { streamId: row.id })))
  }

  async recordingReady(trx: Trx, { body, at }: Of<'recording.ready'>): Promise<void> {
    await applyRecording(trx, body.recordingId, body, at)
  }

  async recordingFailed(trx: Trx, { body, at }: Of<'recording.failed'>): Promise<void> {
    // A full disk takes neither: the event comes again every second until there is room.
    const fields = { callId: body.recordingId, reason: body.message }
    afterCommit(trx, () => this.#deps.log.warn(fields, 'recording failed'))
    await applyRecording(trx, body.recordingId, null, at)
  }
}

/** `conflict`: it runs already. Without an answer, the next snapshot shows whether it runs. */
const isRunningOrUnknown = (reply: Failure): boolean => isStarted(reply) || isUndecided(reply)
