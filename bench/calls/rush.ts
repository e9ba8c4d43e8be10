import { setTimeout as sleep } from 'node:timers/promises'
import { Caller, Refused } from '../load/caller.ts'
import { Histogram, type Percentiles } from '../load/histogram.ts'
import { LegSockets } from '../load/leg-sockets.ts'
import { Talkers } from '../load/talker.ts'

/** How long a call is talked in [ms]. */
export const TALK_MS = 1000
const FRAME_MS = 20
/** Apart from those of a load beside it. */
const PORTS = { first: 40_000, last: 49_999 }
/** Calls are talked in at a time at the most: more come to nothing here. */
const MOST_AT_ONCE = 3000
/** What is looked for is due, spread over a frame [ms]. */
const TURN_MS = 5
/** How long calls that were begun are waited for when no more come [ms]. */
const TAIL_MS = 10_000
/** A phone that hears nothing for so long has no call [ms]. */
const PATIENCE_MS = 5000

export interface RushResult {
  /** Begun each second, at times of their own. */
  rate: number
  begun: number
  /** From INVITE to BYE, with audio heard. */
  whole: number
  /** 503: above capacity. */
  refused: number
  /** Answered in another way, in silence, or not at all; the first few. */
  failed: number
  problems: string[]
  /** INVITE to 200 [ms]. */
  setUpMs: Percentiles | null
  /** INVITE to the first packet [ms]. */
  heardMs: Percentiles | null
}

interface Talk {
  startedAt: number
  frame: number
  isConnected: boolean
  /** Of the first packet [ms]; NaN: none has come. */
  heardAt: number
}

/** Calls that begin at a rate, whatever becomes of those before: INVITE, answer, a second of audio both ways, BYE. */
export class CallRush {
  readonly #target: { host: string; port: number; user: string }
  readonly #caller: Caller
  readonly #sockets: LegSockets
  readonly #talkers = new Talkers(MOST_AT_ONCE)
  readonly #talks: (Talk | null)[] = Array.from({ length: MOST_AT_ONCE }, () => null)
  readonly #free = Array.from({ length: MOST_AT_ONCE }, (_, slot) => slot)
  readonly #timer: NodeJS.Timeout
  #turn = 0
  #next = 0

  private constructor(target: { host: string; port: number; user: string }, caller: Caller, sockets: LegSockets) {
    this.#target = target
    this.#caller = caller
    this.#sockets = sockets
    this.#timer = setInterval(() => this.#turnOf(), TURN_MS)
  }

  static async open(target: { host: string; port: number; user: string }): Promise<CallRush> {
    const caller = await Caller.open()
    const sockets = await LegSockets.open(
      MOST_AT_ONCE,
      (slot, _bytes, at) => {
        const talk = rush.#talks[slot]
        if (talk != null && Number.isNaN(talk.heardAt)) talk.heardAt = at
      },
      PORTS,
    )
    const rush: CallRush = new CallRush(target, caller, sockets)
    return rush
  }

  /** Begins so many calls a second. */
  async run(rate: number, seconds: number): Promise<RushResult> {
    const [setUp, heard] = [new Histogram(), new Histogram()]
    const result: RushResult = {
      ...{ rate, begun: 0, whole: 0, refused: 0, failed: 0, problems: [] },
      ...{ setUpMs: null, heardMs: null },
    }
    const open = new Set<Promise<void>>()
    const startedAt = performance.now()
    const gapMs = (): number => (-Math.log(1 - Math.random()) * 1000) / rate
    for (let due = startedAt; due < startedAt + seconds * 1000; due += gapMs()) {
      if (due > performance.now()) await sleep(due - performance.now())
      const call: Promise<void> = this.#call(result, setUp, heard).finally(() => open.delete(call))
      open.add(call)
      result.begun++
    }
    await Promise.race([Promise.all(open), sleep(TAIL_MS)])
    result.failed += open.size
    return { ...result, setUpMs: setUp.percentiles(), heardMs: heard.percentiles() }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#caller.close()
    this.#sockets.close()
  }

  async #call(result: RushResult, setUp: Histogram, heard: Histogram): Promise<void> {
    const slot = this.#free.pop()
    const fail = (problem: string): void => {
      result.failed++
      if (result.problems.length < 5) result.problems.push(problem)
    }
    if (slot === undefined) return fail('the load has no more lines')
    const startedAt = performance.now()
    const talk: Talk = { startedAt, frame: 0, isConnected: false, heardAt: Number.NaN }
    this.#talks[slot] = talk
    try {
      const from = `rush-${this.#next++}`
      const rtpPort = this.#sockets.portOf(slot)
      const { sessionId, far } = await this.#caller.dial({ ...this.#target, from, rtpPort, isEncrypted: false })
      setUp.add(performance.now() - startedAt)
      this.#sockets.connect(slot, far)
      talk.isConnected = true
      await sleep(TALK_MS)
      for (let waited = 0; Number.isNaN(talk.heardAt) && waited < PATIENCE_MS; waited += TALK_MS) await sleep(TALK_MS)
      await this.#caller.hangUp(sessionId)
      if (Number.isNaN(talk.heardAt)) return fail('nothing was heard')
      heard.add(talk.heardAt - startedAt)
      result.whole++
    } catch (error) {
      if (error instanceof Refused && error.status === 503) result.refused++
      else fail(String(error))
    } finally {
      this.#talks[slot] = null
      this.#free.unshift(slot)
    }
  }

  #turnOf(): void {
    this.#sockets.together(() => this.#talk())
    this.#sockets.poll()
  }

  /** A quarter of all lines, a packet each. */
  #talk(): void {
    const turns = FRAME_MS / TURN_MS
    const now = performance.now()
    for (let slot = this.#turn++ % turns; slot < MOST_AT_ONCE; slot += turns) {
      const talk = this.#talks[slot]
      if (talk == null || !talk.isConnected) continue
      this.#talkers.write(slot, talk.frame++, 'silence', now)
      this.#sockets.send(slot, this.#talkers.packet)
    }
  }
}
