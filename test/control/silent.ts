/** The part of the harnesses that a process to be killed needs, without the product that these load. */
import { pino } from 'pino'
import { vaultOf } from '../../control/kernel/vault.ts'

export const silent = pino({ level: 'silent' })

/** The default vault of tests. */
export const VAULT = vaultOf(Buffer.alloc(32, 7))
