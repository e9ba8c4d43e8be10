/** What a process that is started to be killed needs of the harnesses, without the product that these load. */
import { pino } from 'pino'
import { vaultOf } from '../../control/kernel/vault.ts'

export const silent = pino({ level: 'silent' })

/** The vault of everybody who is given no other. */
export const VAULT = vaultOf(Buffer.alloc(32, 7))
