import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { type DialOptions, Phone, type SipAddress } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import type { Product } from '../../bench/product.ts'
import type { Timeline } from '../../bench/timeline.ts'
import { newRoom } from '../e2e/scene.ts'
import { Random } from './random.ts'

const FRAME = 160
const SECOND = 8000
/** Within this time the flawless second must come: a greeting may be first, and the jitter buffer adapts [samples]. */
const WITHIN = 8 * SECOND
/** Maximum growth of a process under attack, before garbage is collected [MiB]. */
const MAX_GROWTH_MIB = 160
/** After a burst callers may be refused with 503. They call again, as Retry-After says, and must get through within this time [ms]. */
const RUSH_MS = 10_000
const AGAIN_MS = 1000

/** Resident memory of a process [MiB]; 0: the system does not tell. */
function residentMib(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Noise in which all frames differ, so that a lost or repeated one is noticed. */
export function noise(seed: number): (frame: Int16Array) => void {
  const random = new Random(seed)
  return frame => {
    for (let i = 0; i < frame.length; i++) frame[i] = Math.round((random.next() - 0.5) * 16_000)
  }
}

/** The position in `said` of the frame `heard[at…at+160)`, or -1. The jitter buffer may have moved it by a part of a frame. */
function find(said: Int16Array, heard: Int16Array, at: number): number {
  for (let from = 0; from + FRAME <= said.length; from++) {
    if (equal(said, from, heard, at, FRAME)) return from
  }
  return -1
}

function equal(a: Int16Array, from: number, b: Int16Array, at: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[from + i] !== b[at + i]) return false
  return true
}

/** Number of samples of `heard`, from `at` on, that follow each other in `said` without a gap. */
function flawless(said: Int16Array, heard: Int16Array, at: number): number {
  const from = find(said, heard, at)
  if (from < 0) return 0
  const length = Math.min(said.length - from, heard.length - at)
  for (let i = 0; i < length; i++) if (said[from + i] !== heard[at + i]) return i
  return length
}

/** A path on which audio must arrive as it was said. */
interface Path {
  said: Timeline
  heard: Timeline
}

/** Checks that, from now on, a whole second of the heard audio equals what was said, sample by sample. */
export async function assertExact({ said, heard }: Path, label: string): Promise<void> {
  const start = heard.length
  let longest = 0
  let at = start
  for (let end = start + SECOND + FRAME; end <= start + WITHIN; end += SECOND / 4) {
    await heard.reach(end)
    const before = said.samples()
    const after = heard.samples()
    while (at + FRAME <= after.length) {
      const length = flawless(before, after, at)
      longest = Math.max(longest, length)
      if (length >= SECOND) return
      // Flawless up to the end of what was heard: wait for more.
      if (length > 0 && at + length === after.length) break
      at += Math.max(FRAME, length - (length % FRAME))
    }
  }
  assert.unreachable(`${label}: only ${longest} samples in a row arrived as they were said`)
}

async function getThrough(phone: Phone, number: string, sip: SipAddress, options?: DialOptions): Promise<PhoneCall> {
  const limit = performance.now() + RUSH_MS
  for (;;) {
    const call = await phone.dial(number, sip, options)
    const { status } = await call.outcome
    if (status === 200) return call
    assert.ok(status === 503 && performance.now() < limit, `${phone.name} called ${number} and got ${status}`)
    await sleep(AGAIN_MS)
  }
}

/** Places the call that must be flawless. */
type Witness = () => Promise<Path & { hangup(): Promise<void> }>

/** A call to the echo. */
export function echoWitness(sip: SipAddress): Witness {
  return async () => {
    const phone = await Phone.open('echo-witness')
    const call = await getThrough(phone, '1002', sip, { voice: noise(1) })
    return { said: call.said, heard: call.heard, hangup: () => phone.close() }
  }
}

/** One phone speaks and another one listens, in a room of their own. */
export async function roomWitness(product: Product): Promise<Witness> {
  const { number } = await newRoom(product)
  return async () => {
    const phones = [await Phone.open('speaker'), await Phone.open('listener')] as const
    const speaking = await getThrough(phones[0], number, product.sip, { voice: noise(1) })
    const listening = await getThrough(phones[1], number, product.sip)
    const hangup = async () => {
      await Promise.all(phones.map(phone => phone.close()))
    }
    return { said: speaking.said, heard: listening.heard, hangup }
  }
}

/** Checks what must hold after every attack: the processes are the same, memory is bounded, and the next call is flawless. */
export class Health {
  readonly #witness: Witness
  readonly #pids: () => Record<string, number>
  readonly #before: Record<string, number>
  readonly #memory: Record<string, number>

  constructor(witness: Witness, pids: () => Record<string, number>) {
    this.#witness = witness
    this.#pids = pids
    this.#before = pids()
    this.#memory = Object.fromEntries(Object.entries(this.#before).map(([name, pid]) => [name, residentMib(pid)]))
  }

  static async of(product: Product): Promise<Health> {
    const health = new Health(await roomWitness(product), () => product.pids)
    await health.check('before all')
    return health
  }

  async check(label: string): Promise<void> {
    this.checkProcesses(label)
    const call = await this.#witness()
    await assertExact(call, label)
    await call.hangup()
    this.checkProcesses(label)
  }

  checkProcesses(label: string): void {
    assert.equal(this.#pids(), this.#before, `${label}: the same processes run as before`)
    for (const [name, pid] of Object.entries(this.#before)) {
      assert.ok(isAlive(pid), `${label}: ${name} is alive`)
      const growth = residentMib(pid) - this.#memory[name]!
      assert.ok(growth < MAX_GROWTH_MIB, `${label}: ${name} grew by ${growth.toFixed(0)} MiB`)
    }
  }
}
