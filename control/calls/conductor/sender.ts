import { type Failure, isFailure } from '../../../media/protocol.ts'
import type { CommandPort } from '../../media-link/events.ts'
import type { Leader, LegStep, STEPS } from '../steps/table.ts'
import type { ParticipantRow } from '../tables.ts'

type CommandOf<S extends LegStep> = (typeof STEPS)[S]['sends'][number]

/** The steps of a leader in which commands are sent. */
type SentBy<L extends Leader> = {
  [S in LegStep]: (typeof STEPS)[S]['leads'] extends L ? ([CommandOf<S>] extends [never] ? never : S) : never
}[LegStep]

/** Null: it is done. */
export type Sent = Failure | null

/**
 * Sends what a leg's step calls for, by the commands that the table names and no others. After a crash the same is sent again; repeating
 * what was done already is harmless.
 */
export type Sender<S extends LegStep> = (
  leg: ParticipantRow & { step: S },
  media: CommandPort<CommandOf<S>>,
) => Promise<Sent>

/** A leader registers one for each of its steps. */
export type Senders<L extends Leader> = { [S in SentBy<L>]: Sender<S> }

export const failureOf = (reply: object): Failure | null => (isFailure(reply) ? reply : null)
