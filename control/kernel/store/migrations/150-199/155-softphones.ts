import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** The website that a softphone was opened from is where its next token works. */
export const softphoneOrigins: Migration = { up: db => addColumns(db, 'browser_sessions', { origin: 'text?' }) }
/** The identity of a softphone across reconnects: its running call continues with its next connection. */
export const softphoneDevices: Migration = { up: db => addColumns(db, 'browser_sessions', { device: 'text?' }) }
