import type { FollowUp } from '../../kernel/follow-ups.ts'
import { followUp } from '../../kernel/store/after-commit.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import type { MediaPort } from '../../media-link/events.ts'

/**
 * Follow-ups of a commit that concern calls. They are requested where the fact is written, and run once after the commit, in order for
 * each call, and never after a rollback. If a process dies before it has run them, the next one finds them by the rows.
 */

/** Sends the commands of legs' steps. */
export interface Conducting {
  drive(legId: string, media: MediaPort): Promise<void>
  /** Legs of this node whose rows have pending commands. */
  driveDue(media: MediaPort): Promise<void>
  /** Legs for which media could not do something a moment ago. */
  driveAgain(media: MediaPort): void
  /** Retries everybody who waits for a moderator in this room. */
  driveWaiting(roomId: string, media: MediaPort): Promise<void>
  /** Starts the capture that the rows of a running call ask for. */
  keep(callId: string, media: MediaPort): Promise<void>
  /** Resolves when nothing is being sent. */
  idle(): Promise<void>
}

declare module '../../kernel/follow-ups.ts' {
  interface Outside {
    media: MediaPort
    conducting: Conducting
    /** Decides again which agent answers which call. Never rejects. */
    decide: () => Promise<void>
  }
}

/** `callId`: or the ID of something without a call, a leg or a page. */
export const follow = (trx: Trx, callId: string, run: FollowUp): void => followUp(trx, callId, run)

/** One of our legs has a new step, or is to hear something else: sends the commands of that step. */
export function wake(trx: Trx, leg: { id: string; call_id: string; node_id: string | null }): void {
  // Another node sends for its own legs.
  if (leg.node_id !== nodeOf(trx)) return
  const drive: FollowUp = ({ conducting, media }) => conducting.drive(leg.id, media)
  followUp(trx, leg.call_id, drive, `drive ${leg.id}`)
}

/** Sends what the rows of this node have pending. Runs after a reconnect, and regularly: another node that changes our calls cannot wake us. */
export const sendDue = ({ followUps }: Pick<Store, 'followUps'>): void =>
  followUps.begin({ key: 'due', run: ({ conducting, media }) => conducting.driveDue(media) })

/** Something of a call is to be captured from now on. */
export const keepOf = (trx: Trx, callId: string): void =>
  followUp(trx, callId, ({ conducting, media }) => conducting.keep(callId, media), `keep ${callId}`)

/** Those who wait in a room may be admitted now. */
export const wakeWaiting = (trx: Trx, roomId: string): void =>
  followUp(trx, roomId, ({ conducting, media }) => conducting.driveWaiting(roomId, media), `waiting ${roomId}`)

/** Requests a new decision on who answers whom, because somebody waits or is free. No call waits for it. */
export const decideAnew = (trx: Trx): void => followUp(trx, 'queues', async ({ decide }) => void decide(), 'queues')
