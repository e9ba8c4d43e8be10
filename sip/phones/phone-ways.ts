import type { AgentCore } from '../agent-core.ts'
import type { Peer } from '../agent-types.ts'
import { bracketed } from '../message/uri.ts'
import { askOptions, giveUp, newOutsideSender, type OutsideSender } from '../outside-request.ts'
import type { Deadline } from '../transaction/deadlines.ts'

/** Many routers and firewalls forget a way over UDP after 30 s without a packet (RFC 4787 REQ-5 asks for two minutes) [ms]. */
const EVERY_MS = 25_000
/** Up to this share less, so that phones that have registered together are not asked together. */
const SPREAD = 0.2
/** After a restart the last OPTIONS may have been long ago: the next is sent at a random time within this [ms]. */
const SOON_MS = 5000
/** After that an answer would be too late for the next interval [ms]. */
const ANSWER_MS = 5000
/** Maximum number of contacts. */
const MAX_WAYS = 20_000

interface Way {
  peer: Peer
  uri: string
  asker: OutsideSender
  /** When the registration ends [ms]. */
  until: number
  timer: Deadline | null
  limit: Deadline | null
}

/** A contact of a phone, and how long it stays registered from now on [s]; 0: no longer. */
export interface PhoneContact {
  uri: string
  expiresS: number
}

/**
 * Keeps the ways to phones that have registered over UDP open through NATs and firewalls, for phones that do not do so themselves (RFC 5626 §4.4):
 * by OPTIONS to their addresses, since a NAT need only count what the phone sends (RFC 4787 REQ-6). What they answer does not matter.
 */
export class PhoneWays {
  readonly #core: AgentCore
  /** By address, then by Contact. */
  readonly #phones = new Map<string, Map<string, Way>>()
  #size = 0

  constructor(core: AgentCore) {
    this.#core = core
  }

  /** `peer`: where the phone's packets come from; `hasJustCome`: a REGISTER has just come from there. */
  keep(peer: Peer, contacts: readonly PhoneContact[], hasJustCome: boolean, now: number): void {
    for (const { uri, expiresS } of contacts) {
      if (uri === '*') this.leave(peer)
      else this.#drop(peer, uri)
      if (expiresS === 0 || this.#size >= MAX_WAYS) continue
      const asker = newOutsideSender(this.#core, [peer], null)
      const way: Way = { peer, uri, asker, until: now + expiresS * 1000, timer: null, limit: null }
      const phone = this.#phones.get(keyOf(peer)) ?? new Map()
      this.#phones.set(keyOf(peer), phone.set(uri, way))
      this.#size++
      if (hasJustCome) this.#later(way, now)
      else this.#at(now + SOON_MS * this.#core.fraction(), way)
    }
  }

  /** The phone comes from elsewhere now. */
  leave(peer: Peer): void {
    for (const uri of [...(this.#phones.get(keyOf(peer))?.keys() ?? [])]) this.#drop(peer, uri)
  }

  #drop(peer: Peer, uri: string): void {
    const phone = this.#phones.get(keyOf(peer))
    const way = phone?.get(uri)
    if (phone === undefined || way === undefined) return
    phone.delete(uri)
    if (phone.size === 0) this.#phones.delete(keyOf(peer))
    this.#size--
    this.#core.deadlines.cancel(way.timer)
    this.#giveUp(way)
  }

  #giveUp({ limit, asker }: Way): void {
    this.#core.deadlines.cancel(limit)
    giveUp(this.#core, asker)
  }

  #later(way: Way, now: number): void {
    this.#at(now + EVERY_MS * (1 - SPREAD * this.#core.fraction()), way)
  }

  #at(at: number, way: Way): void {
    way.timer = this.#core.deadlines.set(at, when => {
      if (when >= way.until) {
        this.#drop(way.peer, way.uri)
        return
      }
      this.#ask(way, when)
      this.#later(way, when)
    })
  }

  #ask(way: Way, now: number): void {
    const { peer, uri, asker } = way
    const from = `sip:${bracketed(this.#core.options.local(peer).host)}`
    const over = (): void => this.#core.deadlines.cancel(way.limit)
    way.limit = this.#core.deadlines.set(now + ANSWER_MS, () => this.#giveUp(way))
    askOptions(this.#core, asker, { uri, from, contactUser: '' }, { response: over, failed: over }, now)
  }
}

const keyOf = ({ host, port }: Peer): string => `${host} ${port}`
