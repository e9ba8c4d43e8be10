import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { clockOriginMs } from '../../media/kernel/clock-origin.ts'
import type { Ledger } from './ledger.ts'
import type { LegSockets } from './leg-sockets.ts'
import type { LoadPlan } from './messages.ts'
import { Speakers, type Spoken } from './speakers.ts'
import type { FromThread, ThreadData, ToThread } from './speaking-thread.ts'
import type { FarEnd } from './wires.ts'

const LEAST_WAIT_MS = 1

/** The talking half of all legs, in whichever thread it runs. */
export interface Speaking {
  /** Counts what is sent from `from` until `to`, which lie in the near future [ms]. */
  measure(from: number, to: number): void
  spoken(): Promise<Spoken>
  stop(): Promise<void>
}

/** Starts to send for all legs: in a thread of its own if that can use our sockets, otherwise in this one. Resolves when that runs. */
export async function startSpeaking(
  plan: LoadPlan,
  ledger: Ledger,
  sockets: LegSockets,
  farEnds: readonly FarEnd[],
): Promise<Speaking> {
  const { descriptors } = sockets
  if (descriptors === null) return new SpeakingHere(plan, ledger, sockets)
  return SpeakingThread.start({
    plan,
    memory: ledger.memory,
    originMs: clockOriginMs(),
    legs: farEnds.map((far, leg) => ({ descriptors: descriptors[leg]!, far })),
  })
}

class SpeakingThread implements Speaking {
  readonly #worker: Worker

  private constructor(worker: Worker) {
    this.#worker = worker
  }

  static async start(workerData: ThreadData): Promise<SpeakingThread> {
    const worker = new Worker(new URL('./speaking-thread.mjs', import.meta.url), { workerData })
    await once(worker, 'message')
    return new SpeakingThread(worker)
  }

  measure(from: number, to: number): void {
    this.#worker.postMessage({ type: 'measure', from, to } satisfies ToThread)
  }

  async spoken(): Promise<Spoken> {
    this.#worker.postMessage({ type: 'tell' } satisfies ToThread)
    const [spoken] = (await once(this.#worker, 'message')) as [FromThread]
    return spoken
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}

/** In this thread, by the event loop's timers. */
class SpeakingHere implements Speaking {
  readonly #speakers: Speakers
  #timer: NodeJS.Timeout

  constructor(plan: LoadPlan, ledger: Ledger, sockets: LegSockets) {
    this.#speakers = new Speakers(plan, ledger.memory, sockets, () => performance.now())
    this.#timer = setTimeout(() => this.#advance(), LEAST_WAIT_MS)
  }

  measure(from: number, to: number): void {
    this.#speakers.measure(from, to)
  }

  async spoken(): Promise<Spoken> {
    return this.#speakers.spoken
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer)
  }

  #advance(): void {
    const waitMs = this.#speakers.advance()
    this.#timer = setTimeout(() => this.#advance(), Math.max(LEAST_WAIT_MS, waitMs))
  }
}
