import type { Peer } from '../agent-types.ts'
import type { DigestResponse } from '../auth/digest.ts'
import type { SipRequest } from '../message/message.ts'
import type { ServerTransaction } from '../transaction/transactions.ts'
import type { EventPackage, PackageState } from './packages.ts'

/** A request of a phone that waits for its owner's word, with the digest that it came with. */
export interface Claimed {
  transaction: ServerTransaction
  given: DigestResponse
}

/** A SUBSCRIBE or MESSAGE that its owner has to judge. */
export interface OpenAsk extends Claimed {
  peer: Peer
  subscriptionId: string | null
}

/** The subscriptions of phones. */
export interface SubscriptionBook {
  readonly isFull: boolean
  /** Those that are told of changes. */
  readonly ids: string[]
  /** The one whose dialog a request belongs to; null: none. */
  find(request: SipRequest): string | null
  /** Answers a SUBSCRIBE that begins a subscription with 200, and with the first NOTIFY (RFC 6665 §4.2.1). Its ID; null: it was refused. */
  begin(
    of: { transaction: ServerTransaction; peer: Peer; eventPackage: EventPackage },
    given: { expiresS: number; state: PackageState },
    now: number,
  ): string | null
  /** Answers a SUBSCRIBE inside of it: a refresh, or with no time its end. False: it is over. */
  refresh(
    id: string,
    transaction: ServerTransaction,
    given: { expiresS: number; state: PackageState },
    now: number,
  ): boolean
  /** What it is about is so now; what it has been told already it is not told again. */
  notify(id: string, state: PackageState, now: number): boolean
  /** Ends one: who subscribed may not hear of it any more (RFC 6665 §4.1.3). */
  end(id: string, now: number): boolean
}
