import type { EventName, Events } from '../../../media/protocol.ts'
import type { Trx } from '../../kernel/store/store.ts'
import type { PinVerdict } from './decide.ts'

export type Of<N extends EventName> = { body: Events[N]; at: string }

/**
 * Applies one event: reads and writes rows and API events through `trx` only. It shares the transaction with other events and sees what those before
 * it have written. It must await only its queries, since anything else would delay all of them. It may run again for the same event if the
 * transaction does not commit. Effects outside of the database go to `follow.ts`. `pin`: the verdict on the event's digits, if they are a PIN.
 */
export type EventHandler<N extends EventName> = (trx: Trx, event: Of<N>, pin?: PinVerdict) => Promise<void>

export type EventHandlers = { [N in EventName]: EventHandler<N> }
