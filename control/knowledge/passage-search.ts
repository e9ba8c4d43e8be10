import type { Engine } from '../kernel/store/store.ts'
import { postgresSearch } from './postgres-search.ts'
import type { PassageSearch } from './search.ts'
import { sqliteSearch } from './sqlite-search.ts'

/** The search of each kind of database. */
export const passageSearch = (engine: Engine): PassageSearch => (engine === 'postgres' ? postgresSearch : sqliteSearch)
