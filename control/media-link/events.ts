import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { CommandName, Failure, MediaEvent, Reply, Request } from '../../media/protocol.ts'
import { type FollowUps, type FollowUpTask, MAX_PENDING } from '../kernel/follow-ups.ts'
import type { Sizes } from '../kernel/metrics/metrics-text.ts'
import { isStoreOutage } from '../kernel/store/faults.ts'
import { isOutage, StoreOutage } from '../kernel/store/outage.ts'
import { CallersRefused } from './callers-refused.ts'

/** Maximum number of waiting events. Beyond it the channel is closed, and media sends them again. */
const MAX_WAITING = 100_000
/** Maximum number of events per commit: enough to share the cost of the disk, few enough that API requests get their turn. */
const MAX_BATCH = 32
/** Buckets for batch sizes. */
const SIZE_BOUNDS = [1, 2, 4, 8, 16, MAX_BATCH]
/** An event whose handling failed this often is set aside, so that later ones are not held up. */
const MAX_ATTEMPTS = 3
/** Delay between its attempts [ms]. */
const RETRY_MS = 50
/** Pause between attempts while the store is unavailable; the first is shorter, for momentary failures [ms]. */
const FIRST_STORELESS_MS = 200
const STORELESS_MS = 1000

/** Sends a request to the media process. Refusal and an unreachable process are values. */
export interface CommandPort<C extends CommandName> {
  request<N extends C>(name: N, body: Request<N>, deadlineMs?: number): Promise<Reply<N> | Failure>
  /** Resolves when every event that has arrived by now is committed, or the channel broke. */
  settled(): Promise<void>
  /** Time of the oldest event that is not handled, ISO 8601; null: all are handled; empty: unknown. */
  readonly waitingSince: string | null
  /** Whether the end of a leg has been reported, and is not committed yet. */
  isEnding(legId: string): boolean
  /** The process is being ended: what would begin a new call waits for another one. */
  readonly isDraining: boolean
}

export type MediaPort = CommandPort<CommandName>

export interface NumberedEvent {
  seq: number
  event: MediaEvent
}

/** Control's handlers of media's events. Calls never overlap. */
export interface EventSink {
  /** Commits the events, in order, and the position of the last, all or none. After a failure the same events come again, one at a time. */
  events(batch: readonly NumberedEvent[], media: MediaPort): Promise<void>
  /** Follow-ups of commits: of events, and of everything else that this process writes. */
  readonly followUps: FollowUps
  /** Runs a follow-up of a commit. */
  perform(task: FollowUpTask, media: MediaPort): Promise<void>
  /** Commits the position without an event that cannot be applied; the call that it belongs to is ended for it. */
  setAside(numbered: NumberedEvent, media: MediaPort): Promise<void>
  /** A follow-up with this key has thrown; the call that it belongs to is ended. */
  faulted(key: string, media: MediaPort, error: unknown): Promise<void>
  /** Whether the store accepts writes; on a full disk it still answers reads. Throws if it does not. */
  write(): Promise<void>
}

/** The connection that the events came over. */
export interface EventSource {
  /** False once it broke: the other end keeps what was not acknowledged. */
  isOpen(): boolean
  /** Every event up to this one is committed. */
  acknowledge(seq: number): void
  /** A follow-up could not be done since the database was unavailable. Breaks the connection: the comparison with the next snapshot finds it again. */
  fail(): void
}

type Job = ({ kind: 'event' } & NumberedEvent) | { kind: 'mark'; resolve: () => void }
type Batch = { events: NumberedEvent[]; marks: (() => void)[] }

/** The name of an event; null: it is no event. */
const nameOf = (event: unknown): string | null =>
  typeof event === 'object' && event !== null && 'name' in event && typeof event.name === 'string' ? event.name : null

/**
 * Media's events on their way into the database. Events that arrive during a commit are committed together next. So a single
 * event does not wait, and under load there is no commit for each.
 */
export class MediaEvents {
  /** `events` in `batches`; `split`: batches that failed and were handled one by one; `skipped`: events set aside. */
  readonly counters = { events: 0, batches: 0, split: 0, skipped: 0 }
  readonly #sizes: number[] = SIZE_BOUNDS.map(() => 0)
  readonly #sink: EventSink
  readonly #media: MediaPort
  readonly #log: Logger
  #jobs: Job[] = []
  /** Events taken out of `#jobs` and not committed yet. */
  #inHand: readonly NumberedEvent[] = []
  /** Of the current connection; null before the first. */
  #source: EventSource | null = null
  readonly #outage: StoreOutage
  /** Whether the store was unavailable at the last attempt. */
  #isAway = false
  readonly #callers: CallersRefused
  /** A follow-up could not be done while the store was unavailable. */
  #isOwed = false
  /** So many follow-ups are under way that events wait for them. */
  #isFull = false
  /** Events are being retried. Only their success shows that the store is back, since on a nearly full disk smaller writes may still succeed. */
  #isWaiting = false

  /** At most `MAX_WAITING` events wait. @param publicUrl for `doc_url` */
  constructor(sink: EventSink, media: MediaPort, log: Logger, publicUrl: string) {
    this.#sink = sink
    this.#media = media
    this.#log = log
    this.#outage = new StoreOutage(log)
    this.#callers = new CallersRefused(media, publicUrl)
    sink.followUps.performedBy(task => this.#perform(task))
  }

  /** How often the store went away. */
  get storeOutages(): number {
    return this.#outage.counters.storeOutages
  }

  /** The store is unavailable: events so far wait, and so would everybody waiting for them. */
  get isStoreAway(): boolean {
    return this.#isAway
  }

  /** How many events were committed together, and how often. */
  get batchSizes(): Sizes {
    return { bounds: SIZE_BOUNDS, counts: this.#sizes, sum: this.counters.events, count: this.counters.batches }
  }

  get waitingSince(): string | null {
    const [oldest = this.#jobs.find(job => job.kind === 'event')] = this.#inHand
    return oldest?.event?.at ?? null
  }

  isEnding(legId: string): boolean {
    const waiting = [...this.#inHand, ...this.#jobs.filter(job => job.kind === 'event')]
    return waiting.some(
      ({ event }) => nameOf(event) === 'leg.ended' && (event.body as { legId?: string }).legId === legId,
    )
  }

  /** Everything that has arrived is committed. */
  get isEmpty(): boolean {
    return this.#jobs.length === 0 && this.#inHand.length === 0
  }

  /** False when too many are waiting. */
  push(numbered: NumberedEvent): boolean {
    if (this.#jobs.length >= MAX_WAITING) return false
    const { seq, event } = numbered
    this.#jobs.push({ kind: 'event', seq, event: this.#isAway ? this.#refused(event) : event })
    return true
  }

  /** Reports an error that means that the store is unavailable, and refuses callers until it is back; false: it is another error. */
  storeAway(error: unknown, fields: object = {}): boolean {
    if (!this.#note(error, { waiting: this.#jobs.length, ...fields })) return false
    this.#answerMarks()
    for (const job of this.#jobs) if (job.kind === 'event') job.event = this.#refused(job.event)
    return true
  }

  /** Something was written. */
  storeBack(): void {
    if (!this.#isAway) return
    this.#isAway = false
    this.#outage.over()
    this.#callers.forget()
  }

  #note(error: unknown, fields?: object): boolean {
    const isOutage = this.#outage.note(error, fields)
    if (isOutage) this.#isAway = true
    return isOutage
  }

  #refused(event: MediaEvent): MediaEvent {
    return nameOf(event) === null ? event : this.#callers.refuse(event)
  }

  /** Resolves once everything pushed before has been handled or given up. */
  mark(): Promise<void> {
    if (this.#isFull) return Promise.resolve()
    return new Promise(resolve => this.#jobs.push({ kind: 'mark', resolve }))
  }

  /** Resolves when nothing that follows commits is under way. */
  idle(): Promise<void> {
    return this.#sink.followUps.idle()
  }

  /** Gives up what waits; media sends it again. */
  clear(): void {
    this.#answerMarks()
    this.#jobs = []
    this.#inHand = []
  }

  #answerMarks(): void {
    for (const job of this.#jobs) if (job.kind === 'mark') job.resolve()
    this.#jobs = this.#jobs.filter(job => job.kind === 'event')
  }

  /** Handles the waiting events batch by batch, up to the event `through`. Throws if one could not be handled. */
  async drain(source: EventSource, through = Number.POSITIVE_INFINITY): Promise<void> {
    this.#source = source
    while (source.isOpen()) {
      const { events, marks } = this.#next(through)
      if (events.length === 0 && marks.length === 0) return
      this.#inHand = events
      try {
        if (events.length > 0) await this.#untilTaken(source, events, marks)
      } finally {
        this.#inHand = []
        for (const resolve of marks) resolve()
      }
      // Those of the follow-ups that wait for later events do so no longer.
      this.#isFull = this.#sink.followUps.pending >= MAX_PENDING
      if (this.#isFull) this.#answerMarks()
      await this.#sink.followUps.room()
      this.#isFull = false
      // Follow-ups of these events come first, so that no caller's answer waits for the transaction of later events.
      if (this.#jobs.length > 0) await nextTurn()
    }
  }

  /** Handles a batch; while the store is unavailable, it is repeated until the store accepts it. */
  async #untilTaken(source: EventSource, batch: readonly NumberedEvent[], marks: (() => void)[]): Promise<void> {
    let events = batch
    for (let tries = 0; source.isOpen(); tries++) {
      try {
        await this.#deliver(source, events)
        this.#isWaiting = false
        this.#recovered(source)
        return
      } catch (error) {
        // Of others in its way, the events are at no fault either.
        if (!isStoreOutage(error)) throw error
        this.#isWaiting = isOutage(error)
        // A momentary failure refuses no caller.
        if (tries === 0) this.#note(error, { waiting: this.#jobs.length + events.length })
        else if (this.storeAway(error)) {
          events = events.map(({ seq, event }) => ({ seq, event: this.#refused(event) }))
          for (const resolve of marks.splice(0)) resolve()
        }
      }
      await sleep(tries === 0 ? FIRST_STORELESS_MS : STORELESS_MS)
    }
    this.#isWaiting = false
  }

  #recovered(source: EventSource): void {
    this.storeBack()
    if (!this.#isOwed) return
    this.#isOwed = false
    source.fail()
  }

  /** A follow-up could not be done while the store was unavailable. Once it is back, the rows are compared with what media does. */
  async #owe(source: EventSource): Promise<void> {
    if (this.#isOwed) return
    this.#isOwed = true
    while (source.isOpen() && this.#isOwed) {
      await sleep(STORELESS_MS)
      const isAway = await this.#sink.write().catch(isOutage)
      if (isAway !== true && this.#isOwed && !this.#isWaiting) this.#recovered(source)
    }
    this.#isOwed = false
  }

  /** The next piece of work: events to be committed together, with the marks before, between and right after them. */
  #next(through: number): Batch {
    const batch: Batch = { events: [], marks: [] }
    let count = 0
    for (const job of this.#jobs) {
      if (job.kind === 'mark') batch.marks.push(job.resolve)
      else {
        const isFirst = batch.events.length === 0
        if (job.seq > through || batch.events.length >= MAX_BATCH || (!isFirst && nameOf(job.event) === null)) break
        batch.events.push(job)
      }
      count++
      // An invalid event fails alone.
      if (job.kind === 'event' && nameOf(job.event) === null) break
    }
    this.#jobs.splice(0, count)
    return batch
  }

  async #deliver(source: EventSource, events: readonly NumberedEvent[]): Promise<void> {
    if (events.length > 1) {
      const error = await this.#take(source, events)
      if (error === null) return
      this.counters.split++
      this.#log.warn({ err: error, events: events.length }, 'a batch of media events failed: trying each alone')
    }
    for (const one of events) {
      if (!source.isOpen()) return
      await this.#deliverOne(source, one)
    }
  }

  async #deliverOne(source: EventSource, numbered: NumberedEvent): Promise<void> {
    const { seq, event } = numbered
    const name = nameOf(event)
    for (let attempt = 1; name !== null && attempt <= MAX_ATTEMPTS; attempt++) {
      const error = await this.#take(source, [numbered])
      if (error === null) return
      this.#log.error({ err: error, event: name, attempt }, 'a media event could not be handled')
      if (attempt < MAX_ATTEMPTS) await sleep(attempt * RETRY_MS)
      // Media sends it again over the next connection.
      if (!source.isOpen()) return
    }
    this.counters.skipped++
    this.#log.error({ seq, event: name }, 'a media event was set aside')
    await this.#sink.setAside(numbered, this.#media)
    source.acknowledge(seq)
  }

  /** Commits events and acknowledges them. Returns why they could not be handled; null: they are. Nothing is written of those that could not. */
  async #take(source: EventSource, events: readonly NumberedEvent[]): Promise<unknown> {
    try {
      await this.#sink.events(events, this.#media)
    } catch (error) {
      // A full or failing disk is not the events' fault, so they are repeated until the store accepts them.
      if (isStoreOutage(error)) throw error
      return error
    }
    this.counters.events += events.length
    this.counters.batches++
    this.#sizes[SIZE_BOUNDS.findIndex(bound => events.length <= bound)]!++
    if (source.isOpen()) source.acknowledge(events.at(-1)!.seq)
    return null
  }

  /** A command that cannot be sent now is found by the comparison with the next connection's snapshot. */
  async #perform(task: FollowUpTask): Promise<void> {
    const source = this.#source
    if (source === null || !source.isOpen()) return
    try {
      await this.#sink.perform(task, this.#media)
    } catch (error) {
      await this.#failed(source, task.key, error)
    }
  }

  async #failed(source: EventSource, key: string, error: unknown): Promise<void> {
    if (this.#note(error)) return this.#owe(source)
    if (!isStoreOutage(error)) {
      try {
        return await this.#sink.faulted(key, this.#media, error)
      } catch (another) {
        this.#log.error({ err: another, key }, 'a call could not be ended after a fault')
      }
    }
    this.#log.error({ err: error }, 'what follows a commit could not be done now')
    source.fail()
  }
}
