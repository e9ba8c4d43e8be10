import type { CommandName, Failure, Reply, Request } from '../../media/protocol.ts'
import { isFailure, isUndecided } from '../../media/protocol.ts'
import { isPaused } from '../calls/pci.ts'
import { insertSteps, type TimedStep } from '../calls/programs/records.ts'
import type { CallProgramRow } from '../calls/programs/tables.ts'
import type { CallRow } from '../calls/tables.ts'
import { newId } from '../kernel/ids.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import type { MediaPort } from '../media-link/events.ts'
import type { ProgramInput, WaitingInput } from './input.ts'

/** Thrown when a run is over for this process: its call has ended, or media is disconnected and the run begins again from its row. */
export class Stopped extends Error {}

export interface StageParts {
  store: Store
  vault: Vault
  now: () => Date
  /** Runs `task` after `ms`; the returned function cancels it. */
  later: (task: () => void, ms: number) => () => void
}

interface Commit {
  /** The program's progress, stored as JSON. */
  state?: unknown
  steps?: readonly TimedStep[]
  change?: Partial<CallProgramRow>
  /** Further changes in the same transaction. */
  also?: (trx: Trx) => Promise<void>
}

/** Maximum number of waiting inputs of one call; further ones are dropped. */
const MAX_WAITING_INPUTS = 200

/**
 * What a program sees of its call: it sends commands for the leg, receives inputs, and stores its progress in the row from which it can be
 * resumed. An input is deleted in the transaction that stores its consequences.
 */
export class Stage {
  readonly call: CallRow
  readonly legId: string
  /** What media was still doing for the leg when the run was resumed; null: it is a new run. */
  readonly resumed: { playing: boolean; collecting: boolean } | null
  readonly tenant: Tenant
  /** Whether the program waits for a party that is being rung. */
  isRinging = false
  readonly #parts: StageParts
  readonly #media: MediaPort
  readonly #abort = new AbortController()
  #row: CallProgramRow
  #inputs: WaitingInput[] = []
  #lastSeen = ''
  #taken: WaitingInput[] = []
  readonly #held = new Map<ProgramInput, WaitingInput>()
  #woken: () => void = () => {}
  #isNudged = false

  constructor(
    parts: StageParts,
    media: MediaPort,
    row: CallProgramRow,
    call: CallRow,
    resumed: { playing: boolean; collecting: boolean } | null,
  ) {
    this.#parts = parts
    this.#media = media
    this.#row = row
    this.call = call
    this.legId = row.leg_id
    this.tenant = tenantOf(row)
    this.resumed = resumed
  }

  get row(): CallProgramRow {
    return this.#row
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Whether a card payment is in progress, in which no answer is expected. */
  isPaused(): Promise<boolean> {
    return isPaused(this.db, this.tenant, this.call.id)
  }

  now(): Date {
    return this.#parts.now()
  }

  get db(): Db {
    return this.#parts.store.db
  }

  /** The stored progress; null: a new run. */
  state<T>(): T | null {
    return this.#row.state === null ? null : (JSON.parse(this.#parts.vault.open(this.#row.state, this.#row.id)) as T)
  }

  /** Ends the run in this process. Idempotent. */
  stop(): void {
    this.#abort.abort()
    this.#woken()
  }

  /** Makes the program look for new inputs. */
  wake(): void {
    this.#woken()
  }

  /** Sends a command. A failure is returned. Without any reply the run stops, and begins again once media is connected, or has told the outcome. */
  async request<N extends CommandName>(name: N, body: Request<N>): Promise<Reply<N> | Failure> {
    this.#mustGoOn()
    const reply = await this.#media.request(name, body)
    // Who has left makes every command fail: the end of the run is on the way.
    const hasLeft = isFailure(reply) && this.#media.isEnding(this.legId)
    if (this.signal.aborted || isUndecided(reply) || hasLeft) throw new Stopped()
    return reply
  }

  /** Makes `next` return `nudged`, so that its caller can check other conditions. */
  nudge(): void {
    this.#isNudged = true
    this.#woken()
  }

  /** The next input; null: none came within `withinMs`. */
  async next(withinMs?: number): Promise<ProgramInput | 'nudged' | null> {
    let late = false
    const forget =
      withinMs === undefined
        ? () => {}
        : this.#parts.later(() => {
            late = true
            this.#woken()
          }, withinMs)
    try {
      for (;;) {
        const woken = new Promise<void>(resolve => {
          this.#woken = resolve
        })
        this.#mustGoOn()
        if (this.#inputs.length === 0) await this.#read()
        this.#mustGoOn()
        const first = this.#inputs.shift()
        if (first !== undefined) {
          this.#taken.push(first)
          return first.input
        }
        if (this.#isNudged) {
          this.#isNudged = false
          return 'nudged'
        }
        if (late) return null
        await woken
      }
    } finally {
      forget()
    }
  }

  /** The next input for which `wanted` returns something; earlier ones are discarded. */
  async until<T>(wanted: (input: ProgramInput) => T | null, withinMs?: number): Promise<T | null> {
    for (;;) {
      const input = await this.next(withinMs)
      if (input === null) return null
      const found = input === 'nudged' ? null : wanted(input)
      if (found !== null) return found
    }
  }

  /** As `until`, but only among the inputs that are already there; null: none matches. The others stay. */
  async poll<T>(wanted: (input: ProgramInput) => T | null): Promise<T | null> {
    await this.#read()
    for (const [at, waiting] of this.#inputs.entries()) {
      const found = wanted(waiting.input)
      if (found === null) continue
      this.#inputs.splice(at, 1)
      this.#taken.push(waiting)
      return found
    }
    return null
  }

  /** Keeps an input that was taken from being deleted by commits, until it is released. */
  hold(input: ProgramInput): void {
    const taken = this.#taken.find(given => given.input === input)
    if (taken === undefined) return
    this.#taken = this.#taken.filter(given => given !== taken)
    this.#held.set(input, taken)
  }

  /** Lets the next commit delete an input that was held. Idempotent. */
  release(input: ProgramInput): void {
    const held = this.#held.get(input)
    if (held === undefined) return
    this.#held.delete(input)
    this.#taken.push(held)
  }

  async #read(): Promise<void> {
    const rows = await forTenant(this.#parts.store.db, this.tenant)
      .select('call_inputs')
      .select(['id', 'body'])
      .where('call_id', '=', this.#row.id)
      .where('id', '>', this.#lastSeen)
      .orderBy('id')
      .execute()
    for (const { id, body } of rows) {
      this.#inputs.push({ id, input: JSON.parse(this.#parts.vault.open(body, this.#row.id)) })
      this.#lastSeen = id
    }
  }

  /** What was under way at the stop was given up: that is neither a failure of it nor an answer, and nothing may follow from it. */
  #mustGoOn(): void {
    if (this.signal.aborted) throw new Stopped()
  }

  /** Stores the program's progress; throws `Stopped` if it no longer leads the call. */
  async commit({ state, steps = [], change = {}, also }: Commit): Promise<void> {
    this.#mustGoOn()
    const { store, vault } = this.#parts
    // A copy, as the state is: what is taken from now on is not in it.
    const taken = [...this.#taken]
    const set: Partial<CallProgramRow> = {
      ...change,
      ...(state === undefined ? {} : { state: vault.seal(JSON.stringify(state), this.#row.id) }),
    }
    await store.transaction(async trx => {
      const scoped = forTenant(trx, this.tenant)
      const { numUpdatedRows } = await scoped
        .update('call_programs')
        .set({ leg_id: this.legId, ...set })
        .where('id', '=', this.#row.id)
        .where('status', '=', 'running')
        // Another program may have the call meanwhile, in a row with the same ID.
        .where('created', '=', this.#row.created)
        .executeTakeFirst()
      if (numUpdatedRows === 0n || !(await isLed(trx, this.#row))) throw new Stopped()
      const ids = taken.map(({ id }) => id)
      if (ids.length > 0) await scoped.delete('call_inputs').where('id', 'in', ids).execute()
      await insertSteps(trx, this.#row, steps)
      await also?.(trx)
    })
    this.#taken = this.#taken.filter(given => !taken.includes(given))
    this.#row = { ...this.#row, ...set }
  }
}

/** Whether the program still leads the leg, which a transfer over the API takes away from it. */
export async function isLed(db: Db, row: CallProgramRow): Promise<boolean> {
  const leg = await forTenant(db, tenantOf(row)).find('participants', row.leg_id)
  return leg?.step === 'program'
}

/** Stores an input for a program, in the transaction of its event. False: too many wait already. */
export async function insertInput(trx: Trx, vault: Vault, row: CallProgramRow, input: ProgramInput): Promise<boolean> {
  const scoped = forTenant(trx, tenantOf(row))
  const waiting = await scoped
    .select('call_inputs')
    .select('id')
    .where('call_id', '=', row.id)
    .limit(MAX_WAITING_INPUTS)
    .execute()
  if (waiting.length >= MAX_WAITING_INPUTS) return false
  const body = vault.seal(JSON.stringify(input), row.id)
  await scoped.insert('call_inputs', { id: newId('call_input'), call_id: row.id, body })
  return true
}
