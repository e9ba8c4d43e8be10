import { LRUCache } from 'lru-cache'
import { Counter, Histogram, type Registry } from 'prom-client'
import { atMost, type Quality } from '../../media/protocol.ts'
import type { Call } from '../calls/call-schema.ts'
import { LEG_ENDED } from '../calls/legs.ts'
import type { CallStep } from '../calls/programs/step-schema.ts'
import { type Fact, only } from '../kernel/store/after-commit.ts'
import type { Store } from '../kernel/store/store.ts'
import type { QueueCall } from '../queues/call-schema.ts'

/** Bound for calls that another node ends, of which this one does not hear. More than a node has at a time. */
const MAX_MADE = 10_000

const SECONDS = [0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300, 600]
/** Buckets for the share of lost audio: 0.01 can be heard, 0.2 is unusable. */
const SHARES = [0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]

/** The time of day, which may be set, and a steady clock [ms]. */
interface Clocks {
  wallMs: number
  steadyMs: number
}

export class CallMetrics {
  readonly #ended: Counter<'direction' | 'outcome' | 'reason'>
  readonly #setUp: Histogram<'direction'>
  readonly #talk: Histogram<'direction'>
  readonly #queueWait: Histogram<'outcome'>
  readonly #turn: Histogram
  readonly #jitter: Histogram
  readonly #loss: Histogram
  readonly #mos: Histogram
  readonly #late: Histogram
  readonly #concealed: Histogram
  readonly #roundTrip: Histogram
  readonly #drift: Histogram
  readonly #oneWay: Counter
  readonly #poor: Counter
  /** What is counted with each event, once it is committed, on the node that handled it. */
  readonly #counts: Record<string, (object: object) => void> = {
    [LEG_ENDED]: object => this.#legEnded(object as Quality),
    'call.created': object => this.#made.set((object as Call).id, this.#now()),
    'call.answered': object => this.#callAnswered(object as Call),
    'call.ended': object => this.#callEnded(object as Call),
    'call.audio.one_way': () => this.#oneWay.inc(),
    'call.quality.degraded': () => this.#poor.inc(),
    'call.turn': object => this.#turned(object as CallStep),
    'queue.call.left': object => this.#left(object as QueueCall),
    'queue.call.overflowed': object => this.#left(object as QueueCall),
  }
  readonly #now: () => Clocks
  /** By ID: when unanswered calls were created. */
  readonly #made = new LRUCache<string, Clocks>(atMost(MAX_MADE))

  constructor(registry: Registry, now: () => Clocks) {
    this.#now = now
    const registers = [registry]
    const histogram = <L extends string = never>(name: string, help: string, buckets: number[], labelNames: L[] = []) =>
      new Histogram<L>({ name: `tandem_${name}`, help, buckets, labelNames, registers })
    this.#ended = new Counter({
      name: 'tandem_calls_ended_total',
      help: 'Calls that have ended, by direction, status and reason',
      labelNames: ['direction', 'outcome', 'reason'],
      registers,
    })
    this.#oneWay = new Counter({
      name: 'tandem_one_way_legs_total',
      help: "Times that a leg's audio was missing or stopped although it should arrive",
      registers,
    })
    this.#poor = new Counter({
      name: 'tandem_poor_legs_total',
      help: 'Times that the received audio of a leg became poor: below R = 70 of the E-model for some seconds',
      registers,
    })
    this.#setUp = histogram('call_setup_seconds', 'Time from the beginning of a call to its answer', SECONDS, [
      'direction',
    ])
    this.#talk = histogram(
      'call_duration_seconds',
      'Time from the answer of a call to its end',
      [...SECONDS, 1800, 3600],
      ['direction'],
    )
    this.#queueWait = histogram('queue_wait_seconds', 'How long calls waited in a queue, by the outcome', SECONDS, [
      'outcome',
    ])
    this.#turn = histogram(
      'turn_latency_seconds',
      "Time from the caller's last voice to the first audio of our answer",
      [0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 8],
    )
    this.#jitter = histogram(
      'leg_jitter_seconds',
      'Interarrival jitter of a leg (RFC 3550) at its end',
      [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2],
    )
    this.#loss = histogram('leg_loss_ratio', "Share of a leg's packets that were lost, 0 to 1", SHARES)
    this.#late = histogram(
      'leg_late_ratio',
      "Share of a leg's packets that arrived too late to be played, 0 to 1",
      SHARES,
    )
    this.#concealed = histogram('leg_concealed_ratio', "Share of a leg's frames that were concealed, 0 to 1", SHARES)
    this.#roundTrip = histogram(
      'leg_round_trip_seconds',
      'Round trip to the far end of a leg by RTCP at its end',
      [0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1],
    )
    this.#drift = histogram(
      'leg_clock_drift_ratio',
      "Drift of a sender's clock from ours, in either direction",
      [5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3],
    )
    this.#mos = histogram('leg_mos', 'Quality of a leg by the E-model, 1 to 4.5', [1, 2, 2.5, 3, 3.3, 3.6, 4, 4.2, 4.4])
  }

  /** Counts events from now on. Returns a function that stops this. */
  watch(store: Pick<Store, 'committed'>): () => void {
    const listener = only(Object.keys(this.#counts), ({ type, object }: Fact) => this.#counts[type]!(object))
    store.committed.add(listener)
    return () => store.committed.delete(listener)
  }

  #callAnswered({ id, direction, created, answered_at }: Call): void {
    const [now, made] = [this.#now(), this.#made.get(id)]
    this.#made.delete(id)
    if (answered_at === null) return
    // How much the time of day was set forward meanwhile.
    const setMs = made === undefined ? 0 : now.wallMs - made.wallMs - (now.steadyMs - made.steadyMs)
    this.#setUp.observe({ direction }, Math.max(0, Date.parse(answered_at) - Date.parse(created) - setMs) / 1000)
  }

  #callEnded({ id, direction, status, ended_reason: reason, answered_at, duration_ms }: Call): void {
    this.#made.delete(id)
    this.#ended.inc({ direction, outcome: status, reason: reason ?? 'unknown' })
    if (answered_at !== null) this.#talk.observe({ direction }, (duration_ms ?? 0) / 1000)
  }

  #legEnded({ packetsReceived, packetsLost, packetsLate, roundTripMs, driftPpm, mos, ...figures }: Quality): void {
    if (packetsReceived === 0) return
    this.#jitter.observe(figures.jitterMs / 1000)
    this.#loss.observe(figures.lossPct / 100)
    this.#late.observe(packetsLate / (packetsReceived + packetsLost))
    this.#concealed.observe(figures.concealedPct / 100)
    if (roundTripMs !== null) this.#roundTrip.observe(roundTripMs / 1000)
    if (driftPpm !== null) this.#drift.observe(Math.abs(driftPpm) / 1e6)
    if (mos !== null) this.#mos.observe(mos)
  }

  #turned({ timing }: CallStep): void {
    if (typeof timing?.first_audio_ms === 'number') this.#turn.observe(timing.first_audio_ms / 1000)
  }

  #left({ outcome, wait_ms }: QueueCall): void {
    this.#queueWait.observe({ outcome: outcome ?? 'unknown' }, wait_ms / 1000)
  }
}
