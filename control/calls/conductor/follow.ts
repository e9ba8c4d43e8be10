import type { FollowUp } from '../../kernel/follow-ups.ts'
import { followUp } from '../../kernel/store/after-commit.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'

/**
 * What follows a commit where calls are concerned. It is asked for where the fact is written, and done once, after the commit, in order for
 * each call; after a rollback never. A process that dies before it has done it is followed by one that finds it by the rows.
 */

/** Who sends what the steps of legs call for. */
export interface Conducting {
  drive(legId: string, media: MediaPort): Promise<void>
  /** Legs of this node whose commands are still to be sent, by the rows. */
  driveDue(media: MediaPort): Promise<void>
  /** Legs for which media could not do something a moment ago. */
  driveAgain(media: MediaPort): void
  /** Those who wait for a moderator in this room are looked at again. */
  driveWaiting(roomId: string, media: MediaPort): Promise<void>
  /** Begins what the rows of a running call say is kept of it. */
  keep(callId: string, media: MediaPort): Promise<void>
  /** Resolves when nothing is being sent. */
  idle(): Promise<void>
}

declare module '../../kernel/follow-ups.ts' {
  interface Outside {
    media: MediaPort
    conducting: Conducting
    /** Decides anew who answers whom. Never rejects. */
    decide: () => Promise<void>
  }
}

/** `callId`: or what else it concerns, a leg or a page that has no call. */
export const follow = (trx: Trx, callId: string, run: FollowUp): void => followUp(trx, callId, run)

/** A leg of ours has come to a step, or is to hear something else: what that calls for is sent. */
export function wake(trx: Trx, leg: { id: string; call_id: string; node_id: string | null }): void {
  // Another node sends what concerns its own.
  if (leg.node_id !== nodeOf(trx)) return
  const drive: FollowUp = ({ conducting, media }) => conducting.drive(leg.id, media)
  followUp(trx, leg.call_id, drive, `drive ${leg.id}`)
}

/**
 * Sends what is still to be sent by the rows of this node. After a reconnect, and now and then: another node that changes facts of our calls
 * cannot wake us.
 */
export const sendDue = ({ followUps }: Pick<Store, 'followUps'>): void =>
  followUps.begin({ key: 'due', run: ({ conducting, media }) => conducting.driveDue(media) })

/** Something is to be kept of a call from now on. */
export const keepOf = (trx: Trx, callId: string): void =>
  followUp(trx, callId, ({ conducting, media }) => conducting.keep(callId, media), `keep ${callId}`)

/** Who waits in a room may be let in now. */
export const wakeWaiting = (trx: Trx, roomId: string): void =>
  followUp(trx, roomId, ({ conducting, media }) => conducting.driveWaiting(roomId, media), `waiting ${roomId}`)

/** Who answers whom is to be decided anew: somebody waits, or is free. No call waits for that. */
export const decideAnew = (trx: Trx): void => followUp(trx, 'queues', async ({ decide }) => void decide(), 'queues')
