import type { Peer } from '../agent-types.ts'
import type { DigestResponse } from '../auth/digest.ts'
import type { SipRequest } from '../message/message.ts'
import type { ServerTransaction } from '../transaction/transactions.ts'
import type { EventPackage, PackageState } from './packages.ts'

/** A request of a phone that waits for its owner's decision, with its digest. */
export interface Claimed {
  transaction: ServerTransaction
  given: DigestResponse
}

/** A SUBSCRIBE or MESSAGE that waits for its owner's decision. */
export interface OpenAsk extends Claimed {
  peer: Peer
  subscriptionId: string | null
}

/** The subscriptions of phones. */
export interface SubscriptionBook {
  readonly isFull: boolean
  /** Subscriptions that receive changes. */
  readonly ids: string[]
  /** The subscription whose dialog a request belongs to; null: none. */
  find(request: SipRequest): string | null
  /** Answers a new SUBSCRIBE with 200 and the first NOTIFY (RFC 6665 §4.2.1). Returns its ID; null: it was refused. */
  begin(
    of: { transaction: ServerTransaction; peer: Peer; eventPackage: EventPackage },
    given: { expiresS: number; state: PackageState },
    now: number,
  ): string | null
  /** Answers a SUBSCRIBE inside a subscription: a refresh, or with an expiry of 0 its end. False: it is over. */
  refresh(
    id: string,
    transaction: ServerTransaction,
    given: { expiresS: number; state: PackageState },
    now: number,
  ): boolean
  /** Sets the state of its subject; an unchanged state is not sent again. */
  notify(id: string, state: PackageState, now: number): boolean
  /** Ends one, because the subscriber is no longer permitted to see it (RFC 6665 §4.1.3). */
  end(id: string, now: number): boolean
  /** See `followPhone`. */
  phoneMoved(from: Peer, to: Peer): void
}
