import type { EventName, Events } from '../../../media/protocol.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { PinVerdict } from './decide.ts'

export type Of<N extends EventName> = { body: Events[N]; at: string }

/**
 * Applies one event: rows and API events, written and read through `trx` alone. It shares the transaction with other events
 * and sees what those before it have written; awaiting anything else than its queries would hold up all of them. It may run
 * again for the same event, when the transaction does not commit. What it leads to outside of the database is left to `follow.ts`. `pin`: of
 * the digits in it, when they are a PIN.
 */
export type EventHandler<N extends EventName> = (trx: Trx, event: Of<N>, pin?: PinVerdict) => Promise<void>

export type EventHandlers = { [N in EventName]: EventHandler<N> }
