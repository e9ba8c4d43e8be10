import type { Migration } from 'kysely'
import { addColumns } from '../columns.ts'

/** Where the other nodes reach a node. */
const known = (how: string): Migration => ({ up: db => addColumns(db, 'nodes', { [how]: 'text?' }) })
export const nodeUrls = known('url')
export const nodeSip = known('sip')
export const nodeWs = known('ws')
