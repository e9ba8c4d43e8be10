import type { Migration } from 'kysely'
import * as released from './released.ts'

/** They run in the order of their names. */
export const MIGRATIONS: Record<string, Migration> = { ...released }
