import { LRUCache } from 'lru-cache'
import { blotted } from '../../sip/message/blot.ts'
import { wantsPrivacy, withoutCaller } from '../../sip/message/private-caller.ts'
import type { PacketLog } from '../rtp/packet-headers.ts'
import { callIdOf, type Place, type WireMessage } from './wire-message.ts'

/** Limit for one Call-ID; beyond it, messages are only counted. */
const MAX_MESSAGES = 200
const MAX_CHARS = 256 * 1024
/** Limits for all kept messages, and for those that no leg has requested. */
const MAX_TOTAL_CHARS = 64 * 1024 * 1024
const MAX_UNCLAIMED_CHARS = 8 * 1024 * 1024
/** Legs that have ended and whose trace nobody has fetched; then the oldest is dropped and counted. */
const MAX_ENDED = 20_000
/** A trace is whole once what follows the end has passed: answers to a BYE, the last ACK [ms]. */
export const LINGER_MS = 2000
/** Limit of one fetch: a batch is one message of the channel and one transaction. */
const BATCH_LEGS = 64
const BATCH_CHARS = 512 * 1024

/** The messages of one Call-ID. */
interface Exchange {
  messages: WireMessage[]
  chars: number
  dropped: number
  /** Legs that are of it and not done. */
  legs: number
}

interface TracedLeg {
  callIds: string[]
  /** Null: still running. */
  endedAt: number | null
  packets: LegPackets | null
}

/** A leg's messages, masked, in order. */
export interface LegTrace {
  legId: string
  messages: WireMessage[]
  /** Those for which there was no room. */
  dropped: number
  /** Headers of its RTP packets, where they were asked for. */
  packets: LegPackets | null
}

/** `local`: where they went out, and came to. */
export interface LegPackets extends PacketLog {
  local: Place
}

/** The messages to show. For a caller with privacy, only those that do not name the caller. */
function shownOf({ messages }: Exchange): WireMessage[] {
  const isPrivate = messages.some(({ text, isSent }) => !isSent && text.startsWith('INVITE ') && wantsPrivacy(text))
  if (!isPrivate) return messages
  return messages.map(message => ({ ...message, text: withoutCaller(message.text, message.isSent) }))
}

/**
 * SIP messages of each leg, kept until control has stored them. A passing message costs one list entry; secrets are masked when it is
 * fetched, outside the call set-up. Memory is bounded in any case. Pure.
 */
export class SipTrace {
  /** Messages for which there was no room, and legs whose trace nobody fetched in time. */
  readonly counters = { messagesDropped: 0, legsDropped: 0 }
  readonly #exchanges = new Map<string, Exchange>()
  /** An INVITE that becomes a leg, or does not. */
  readonly #unclaimed = new LRUCache<string, Exchange>({
    maxSize: MAX_UNCLAIMED_CHARS,
    sizeCalculation: ({ chars }) => chars + 1,
  })
  readonly #legs = new Map<string, TracedLeg>()
  /** In the order of their ends. */
  readonly #ended = new Set<string>()
  #chars = 0

  /** A message passes. */
  note(message: WireMessage, callId = callIdOf(message.text)): void {
    if (callId === null) return
    const exchange = this.#exchanges.get(callId)
    if (exchange !== undefined) {
      const added = this.#add(exchange, message, this.#hasRoom(message.text.length))
      this.#chars += added
    } else if (message.text.startsWith('INVITE ') || this.#unclaimed.has(callId)) this.#noteUnclaimed(callId, message)
  }

  #noteUnclaimed(callId: string, message: WireMessage): void {
    const exchange = this.#unclaimed.get(callId) ?? newExchange()
    this.#add(exchange, message, true)
    // The cache measures what is new to it.
    this.#unclaimed.delete(callId)
    this.#unclaimed.set(callId, exchange)
  }

  /** @returns by how much it has grown */
  #add(exchange: Exchange, message: WireMessage, hasRoom: boolean): number {
    const { length } = message.text
    if (!hasRoom || exchange.messages.length >= MAX_MESSAGES || exchange.chars + length > MAX_CHARS) {
      exchange.dropped++
      this.counters.messagesDropped++
      return 0
    }
    exchange.messages.push(message)
    exchange.chars += length
    return length
  }

  /** The oldest unfetched ones make room for running legs. */
  #hasRoom(chars: number): boolean {
    while (this.#chars + chars > MAX_TOTAL_CHARS) if (!this.#dropOldest()) return false
    return true
  }

  #dropOldest(): boolean {
    const [oldest] = this.#ended
    if (oldest === undefined) return false
    this.counters.legsDropped++
    this.#forget(oldest)
    return true
  }

  /** The messages of this Call-ID are, and will be, a leg's. */
  claim(callId: string, legId: string): void {
    const leg = this.#legs.get(legId) ?? { callIds: [], endedAt: null, packets: null }
    if (leg.callIds.includes(callId)) return
    leg.callIds.push(callId)
    this.#legs.set(legId, leg)
    let exchange = this.#exchanges.get(callId)
    if (exchange === undefined) {
      exchange = this.#unclaimed.get(callId) ?? newExchange()
      this.#unclaimed.delete(callId)
      this.#exchanges.set(callId, exchange)
      this.#chars += exchange.chars
    }
    exchange.legs++
  }

  /** The Call-ID that a leg has now; null: it has none. */
  callIdOf(legId: string): string | null {
    return this.#legs.get(legId)?.callIds.at(-1) ?? null
  }

  /** A leg is over. `at`: as of messages. */
  end(legId: string, at: number, packets: LegPackets | null = null): void {
    const leg = this.#legs.get(legId)
    if (leg === undefined || leg.endedAt !== null) return
    leg.endedAt = at
    leg.packets = packets
    this.#chars += packets?.records.length ?? 0
    this.#ended.add(legId)
    if (this.#ended.size > MAX_ENDED) this.#dropOldest()
  }

  /** The messages of a leg, running or ended; null: none. */
  read(legId: string): LegTrace | null {
    const leg = this.#legs.get(legId)
    return leg === undefined ? null : this.#traceOf(legId, leg)
  }

  /** Forgets those that are `done`, and gives the next legs that are over; they are given again until they are done. */
  take(done: readonly string[], now: number): LegTrace[] {
    for (const legId of done) if (this.#ended.has(legId)) this.#forget(legId)
    const traces: LegTrace[] = []
    let chars = 0
    for (const legId of this.#ended) {
      const leg = this.#legs.get(legId)!
      if (traces.length >= BATCH_LEGS || now - leg.endedAt! < LINGER_MS) break
      const trace = this.#traceOf(legId, leg)
      chars += trace.messages.reduce((sum, { text }) => sum + text.length, trace.packets?.records.length ?? 0)
      if (chars > BATCH_CHARS && traces.length > 0) break
      traces.push(trace)
    }
    return traces
  }

  get size(): number {
    return this.#legs.size
  }

  #traceOf(legId: string, { callIds, packets }: TracedLeg): LegTrace {
    const exchanges = callIds.flatMap(callId => this.#exchanges.get(callId) ?? [])
    const all = exchanges.flatMap(shownOf)
    if (exchanges.length > 1) all.sort((one, other) => one.at - other.at)
    let chars = 0
    const messages = all.filter(({ text }) => {
      chars += text.length
      return chars <= BATCH_CHARS
    })
    return {
      legId,
      messages: messages.map(message => ({ ...message, text: blotted(message.text) })),
      dropped: exchanges.reduce((sum, { dropped }) => sum + dropped, all.length - messages.length),
      packets,
    }
  }

  #forget(legId: string): void {
    const leg = this.#legs.get(legId)
    this.#legs.delete(legId)
    this.#chars -= leg?.packets?.records.length ?? 0
    this.#ended.delete(legId)
    for (const callId of leg?.callIds ?? []) {
      const exchange = this.#exchanges.get(callId)
      if (exchange === undefined || --exchange.legs > 0) continue
      this.#exchanges.delete(callId)
      this.#chars -= exchange.chars
    }
  }
}

const newExchange = (): Exchange => ({ messages: [], chars: 0, dropped: 0, legs: 0 })
