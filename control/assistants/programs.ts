import type { Logger } from 'pino'
import type { LegSnapshot, MediaEvent, MediaSnapshot, RecordingInfo } from '../../media/protocol.ts'
import { endLostTranscripts, onTranscriptEvent, resumeTranscripts } from '../calls/capture/transcripts.ts'
import type { Guard } from '../calls/conductor/driver.ts'
import { writeLeg } from '../calls/legs.ts'
import {
  columnsOf,
  endProgram,
  insertProgram,
  type MessageTarget,
  type ProgramTarget,
  programOfLeg,
  tellProgram,
} from '../calls/programs/records.ts'
import { type CallProgramRow, type ProgramKind, UNENDED } from '../calls/programs/tables.ts'
import { follow } from '../calls/steps/follow.ts'
import { afterCommit } from '../kernel/store/after-commit.ts'
import { rowsOf } from '../kernel/store/compiled.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Step, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'
import { HEARD, type HeardEvent, inputOfEvent, type LedRing, type ProgramInput } from './input.ts'
import { Runs } from './runs.ts'
import { insertInput, isLed, Stage, type StageParts, Stopped } from './stage.ts'
import { endLostVoicemails, endVoicemail } from './voicemail/records.ts'
import type { VoicemailRow } from './voicemail/tables.ts'

/** How a program leaves its call. */
export type Ending =
  /** Media was told to hang up once the last word has been heard. */
  | { way: 'hangup' }
  /** A queue, a room or a party that was rung takes the call over. */
  | { way: 'handed_over'; reason: string; write: (trx: Trx) => Promise<void> }
  | { way: 'go_on'; target: ProgramTarget }

/** Runs a program from the stage's stored state to its end. */
export type Play = (stage: Stage) => Promise<Ending>

export interface ProgramsParts extends StageParts {
  log: Logger
  plays: Record<ProgramKind, Play>
  /** Called for a new message, in the transaction that stores it: a queue may make a callback of it. */
  onMessage: (trx: Trx, voicemail: VoicemailRow) => Promise<void>
  /** Called before one program follows another. True: the recording announcement or question comes first. */
  asksFirst: (
    trx: Trx,
    tenant: Tenant,
    led: { callId: string; legId: string; at: string },
    target: ProgramTarget,
  ) => Promise<boolean>
}

/** How often a call may be passed from program to program. */
const MAX_HOPS = 10

/**
 * Runs the programs of calls: flows, assistants and voicemail. Each answered call with a program has one run, which stops when the call ends, and is
 * resumed from its row after a restart of either process. Media's events become inputs of the run in the transaction that commits them.
 */
export class LivePrograms {
  readonly hears = HEARD
  readonly #parts: ProgramsParts
  readonly #runs = new Runs()
  /** Of the current connection; null before the first. */
  #media: MediaPort | null = null

  constructor(parts: ProgramsParts) {
    this.#parts = parts
  }

  /** Number of calls that a program leads at present. */
  get running(): number {
    return this.#runs.count
  }

  /**
   * Gives an answered call to a program, in this transaction, and ends the program before. The run begins after the commit, on the call's own node.
   */
  async take(
    trx: Trx,
    tenant: Tenant,
    { callId, legId, at }: { callId: string; legId: string; at: string },
    target: ProgramTarget | MessageTarget,
  ): Promise<void> {
    const scoped = forTenant(trx, tenant)
    const before = await scoped.find('call_programs', callId)
    if (before !== undefined) await endProgram(trx, before, 'transfer', at)
    await scoped.delete('call_inputs').where('call_id', '=', callId).execute()
    await scoped.delete('call_programs').where('id', '=', callId).execute()
    await insertProgram(trx, tenant, { callId, legId }, target, at)
    const state = 'mailbox' in target ? this.#parts.vault.seal(JSON.stringify(target), callId) : null
    await scoped.change('call_programs', callId, { state })
    await writeLeg(trx, tenant, legId, { step: 'program' })
    const leg = await scoped.find('participants', legId)
    const row = await scoped.find('call_programs', callId)
    if (row === undefined || leg?.node_id !== nodeOf(trx)) return
    const running = await start(trx, row, at)
    // Without a connection to media, the run begins from its row after the next connect.
    afterCommit(trx, () => {
      const media = this.#media
      if (running !== null && media !== null) void this.#beginTaken(running, media)
    })
  }

  /** Applies an event to the program of its call, in addition to what the call itself does with it. */
  async on(trx: Trx, event: HeardEvent): Promise<void> {
    await onTranscriptEvent(this.#parts, trx, event)
    await this.#led(trx, event)
  }

  async #led(trx: Trx, event: HeardEvent): Promise<void> {
    const { name, at, body } = event
    switch (name) {
      case 'leg.answered':
        return this.#answered(trx, body.legId, at)
      case 'leg.ended':
        return this.#ended(trx, event)
      case 'recording.ready':
        await this.#messageLeft(trx, body, at)
        return this.#ofVoicemail(trx, body.recordingId, body.durationMs)
      case 'recording.failed':
        await endVoicemail(trx, body.recordingId, null, at)
        return this.#ofVoicemail(trx, body.recordingId, null)
      default: {
        const input = inputOfEvent(event)
        if (input === null || !('legId' in body)) return
        const row = await programOfLeg(trx, body.legId)
        if (row?.status !== 'running' || row.leg_id !== body.legId) return
        return (await isLed(trx, row)) ? this.#tell(trx, row, input) : this.#takenAway(trx, row, at)
      }
    }
  }

  /** The call was transferred away: ends the program, and what it has left in media. */
  async #takenAway(trx: Trx, row: CallProgramRow, at: string): Promise<void> {
    await endProgram(trx, row, 'transfer', at)
    afterCommit(trx, () => this.#runs.stop(row.id))
    follow(trx, row.id, ({ media }) => this.#clear(row, media))
  }

  /** Ends speech recognition for the caller, and the message that is being recorded. */
  async #clear(row: CallProgramRow, media: MediaPort): Promise<void> {
    await media.request('leg.stop_listen', { legId: row.leg_id })
    await this.#endMessage(row, media)
  }

  /** Ends the message that is being recorded. Of one whose recording did not begin, media tells no end. */
  async #endMessage(row: CallProgramRow, media: MediaPort): Promise<void> {
    const { store, now } = this.#parts
    const messages = forTenant(store.db, tenantOf(row)).select('voicemails').select('id')
    const recording = messages.where('call_id', '=', row.id).where('status', '=', 'recording')
    for (const { id } of await recording.execute()) {
      const reply = await media.request('recording.stop', { recordingId: id })
      if (!('failure' in reply) || reply.failure !== 'not_found') continue
      await media.settled()
      await store.transaction(trx => endVoicemail(trx, id, null, now().toISOString()))
    }
  }

  async #tell(trx: Trx, row: CallProgramRow, input: ProgramInput): Promise<void> {
    const isKept = await insertInput(trx, this.#parts.vault, row, input)
    afterCommit(trx, () => {
      if (isKept) this.#runs.wake(row.id)
      else this.#parts.log.warn({ callId: row.id, input: input.kind }, 'too much happens to a call at once')
    })
  }

  async #answered(trx: Trx, legId: string, at: string): Promise<void> {
    const row = await programOfLeg(trx, legId)
    if (row?.status !== 'waiting') return
    const running = await start(trx, row, at)
    if (running !== null) follow(trx, row.id, async ({ media }) => this.#begin(running, null, media))
  }

  async #ended(trx: Trx, { body, at }: MediaEvent & { name: 'leg.ended' }): Promise<void> {
    const { legId, reason } = body
    const row = await programOfLeg(trx, legId)
    if (row === undefined) return
    await endProgram(trx, row, reason === 'assistant_ended' ? 'assistant_ended' : 'caller_hangup', at)
    afterCommit(trx, () => this.#runs.stop(row.id))
    follow(trx, row.id, ({ media }) => this.#endMessage(row, media))
  }

  async #messageLeft(trx: Trx, info: RecordingInfo, at: string): Promise<void> {
    const row = await endVoicemail(trx, info.recordingId, info, at)
    if (row !== null) await this.#parts.onMessage(trx, row)
  }

  async #ofVoicemail(trx: Trx, recordingId: string, durationMs: number | null): Promise<void> {
    const messages = trx.selectFrom('voicemails').select('call_id').where('id', '=', recordingId)
    const voicemail = await messages.executeTakeFirst()
    if (voicemail === undefined) return
    const programs = trx.selectFrom('call_programs').selectAll().where('id', '=', voicemail.call_id)
    const row = await programs.where('status', '=', 'running').executeTakeFirst()
    if (row !== undefined) await this.#tell(trx, row, { kind: 'recorded', recordingId, durationMs })
  }

  /** Stores what happened to a ring of a program, in this transaction. */
  async told(trx: Trx, tenant: Tenant, callId: string, what: LedRing): Promise<void> {
    const row = await forTenant(trx, tenant).find('call_programs', callId)
    if (row?.status === 'running') await this.#tell(trx, row, what)
  }

  /** Begins programs to which other nodes have given calls of this node, and wakes runs for inputs that they have stored. To be called regularly. */
  async takeGiven(): Promise<void> {
    this.#runs.wakeRinging()
    const media = this.#media
    if (media === null) return
    const { store, now } = this.#parts
    const given = await rowsOf(
      store.db,
      'programs given to this node',
      place =>
        store.db
          .selectFrom('call_programs')
          .innerJoin('participants', 'participants.id', 'call_programs.leg_id')
          .selectAll('call_programs')
          .where('call_programs.status', '=', 'waiting')
          // Only of answered calls; the others begin with the answer.
          .where('participants.step', '=', 'program')
          .where('participants.node_id', '=', place('node')),
      { node: nodeOf(store.db) },
    )
    for (const row of given) {
      const running = await store.transaction(trx => start(trx, row, now().toISOString()))
      if (running !== null) void this.#beginTaken(running, media)
    }
  }

  // ------------------------------------------------------------------ runs

  /** Begins a run, after ending what the program before may have left in media: its run, speech recognition, a message, hold. */
  async #beginTaken(row: CallProgramRow, media: MediaPort): Promise<void> {
    this.#runs.stop(row.id)
    const legId = row.leg_id
    await this.#clear(row, media)
    const leg = await forTenant(this.#parts.store.db, tenantOf(row)).find('participants', legId)
    if (leg?.on_hold === 0) await media.request('leg.hold', { legId, held: false, sources: [] })
    this.#begin(row, null, media)
  }

  #begin(row: CallProgramRow, leg: LegSnapshot | null, media: MediaPort): void {
    const { store, log } = this.#parts
    const open = async (): Promise<Stage | null> => {
      const call = await forTenant(store.db, tenantOf(row)).find('calls', row.id)
      return call === undefined || call.ended_at !== null ? null : new Stage(this.#parts, media, row, call, leg)
    }
    const lead = async (stage: Stage): Promise<void> => {
      try {
        await this.#lead(stage)
      } catch (error) {
        if (error instanceof Stopped || stage.signal.aborted) return
        log.error({ err: error, callId: row.id }, 'a call could not be led on')
        await media.request('leg.hangup', { legId: row.leg_id, reason: 'internal_error' })
      }
    }
    this.#runs.begin(row.id, open, lead).catch(error => {
      log.error({ err: error, callId: row.id }, 'a call could not be led')
      return media.request('leg.hangup', { legId: row.leg_id, reason: 'internal_error' })
    })
  }

  async #lead(stage: Stage): Promise<void> {
    const { plays, log } = this.#parts
    for (;;) {
      const ending = await plays[stage.row.kind](stage)
      if (ending.way === 'hangup') return
      if (ending.way === 'handed_over') {
        const at = stage.now().toISOString()
        await stage.commit({
          also: async trx => {
            await endProgram(trx, stage.row, ending.reason, at)
            await ending.write(trx)
          },
        })
        return
      }
      const { target } = ending
      if (stage.row.hops >= MAX_HOPS) {
        log.warn({ callId: stage.row.id }, 'a call is given on in circles')
        await stage.commit({ change: { end_reason: 'loop_limit' } })
        await stage.request('leg.hangup', { legId: stage.legId, reason: 'assistant_ended' })
        return
      }
      if (await this.#giveOn(stage, target)) return
    }
  }

  /** Passes the call to the next program. True: the caller hears the recording announcement or question first, and the program follows after it. */
  async #giveOn(stage: Stage, target: ProgramTarget): Promise<boolean> {
    const { store, asksFirst } = this.#parts
    const { row, tenant, legId } = stage
    const at = stage.now().toISOString()
    const led = { callId: row.id, legId, at }
    const isAsked = await store.transaction(
      async trx => (await isLed(trx, row)) && (await asksFirst(trx, tenant, led, target)),
    )
    if (isAsked) return true
    const change = { ...(await columnsOf(store.db, tenant, target)), state: null, hops: row.hops + 1 }
    const also = async (trx: Trx): Promise<void> => {
      const ended = { status: 'ended' as const, end_reason: 'transfer', ended_at: at }
      await tellProgram(trx, { ...row, ...ended }, 'call.flow.ended', at)
      await tellProgram(trx, { ...row, ...change }, 'call.flow.started', at)
    }
    await stage.commit({ change, also })
    return false
  }

  /** Ends the program of a call that something else leads from now on, in this transaction. */
  async letGo(trx: Trx, tenant: Tenant, callId: string, at: string): Promise<void> {
    const row = await forTenant(trx, tenant).find('call_programs', callId)
    if (row !== undefined && row.status !== 'ended') await this.#takenAway(trx, row, at)
  }

  /** After a reconnect: begins every run again from its row. `legIds`: only the runs of these legs, whose commands were not answered. */
  async resume(
    snapshot: MediaSnapshot,
    media: MediaPort,
    guard: Guard,
    legIds: ReadonlySet<string> | null = null,
  ): Promise<void> {
    const { store, now } = this.#parts
    this.#media = media
    const recordings = new Set(snapshot.recordings.map(({ recordingId }) => recordingId))
    const at = now().toISOString()
    if (legIds === null) {
      const step: Step = run => guard(null, () => store.transaction(run))
      await endLostTranscripts(this.#parts.vault, store.db, at, step)
      await endLostVoicemails(store.db, recordings, at, step)
    }
    await resumeTranscripts(this.#parts, media, run => guard(null, run))
    const legs = new Map(snapshot.legs.map(leg => [leg.legId, leg]))
    const rows = await store.db
      .selectFrom('call_programs')
      .innerJoin('calls', 'calls.id', 'call_programs.id')
      .selectAll('call_programs')
      .where('calls.node_id', '=', nodeOf(store.db))
      .where('call_programs.status', 'in', UNENDED)
      .execute()
    for (const row of rows) {
      if (legIds !== null && !legIds.has(row.leg_id)) continue
      await guard(row.leg_id, () => this.#resumeRun(row, legs.get(row.leg_id), media))
    }
  }

  async #resumeRun(row: CallProgramRow, leg: LegSnapshot | undefined, media: MediaPort): Promise<void> {
    const { store, now } = this.#parts
    const call = await forTenant(store.db, tenantOf(row)).find('calls', row.id)
    // The leg of one that waits for its answer may still have to be dialled.
    const isLost = leg === undefined && row.status !== 'waiting'
    if (call === undefined || call.ended_at !== null || isLost) {
      await store.transaction(trx => endProgram(trx, row, 'caller_hangup', now().toISOString()))
      this.#runs.stop(row.id)
      await this.#endMessage(row, media)
    } else if (leg !== undefined && row.status === 'running') this.#begin(row, leg, media)
  }

  /** Stops the runs of this process. Their calls continue, and the next process resumes them. Idempotent. */
  async close(): Promise<void> {
    await this.#runs.close()
  }
}

/** Marks a waiting program as running; null: it is running already, or has ended. */
async function start(trx: Trx, row: CallProgramRow, at: string): Promise<CallProgramRow | null> {
  const programs = forTenant(trx, tenantOf(row)).update('call_programs').set({ status: 'running' })
  const started = programs.where('id', '=', row.id).where('status', '=', 'waiting')
  if ((await started.executeTakeFirst()).numUpdatedRows === 0n) return null
  const running = { ...row, status: 'running' as const }
  await tellProgram(trx, running, 'call.flow.started', at)
  return running
}
