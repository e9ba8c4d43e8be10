import type { Migration } from 'kysely'
import { type EventKind, registerEvents } from '../kernel/events/catalog.ts'
import { registerIds } from '../kernel/ids.ts'
import { MIGRATIONS } from '../kernel/store/migrations/all.ts'
import type { Store } from '../kernel/store/store.ts'
import type { Route } from './route.ts'

/** Dependencies of a noun's routes. */
export interface NounParts {
  store: Store
  now: () => Date
}

/** Everything in a noun's folder; its tables and types are added by `declare module`. */
export interface Noun {
  /** The prefixes of its IDs. */
  ids?: Readonly<Record<string, string>>
  /** By unique name; they run in the order of their names. */
  migrations?: Readonly<Record<string, Migration>>
  events?: Readonly<Record<string, EventKind>>
  routes?: (parts: NounParts) => Route[]
}

const nouns: Noun[] = []

/** Adds a noun to the product (`wiring/event-catalog.ts`): once, before the store is opened and the app is built. */
export function enlist(noun: Noun): void {
  registerIds(noun.ids ?? {})
  Object.assign(MIGRATIONS, noun.migrations)
  registerEvents(noun.events ?? {})
  nouns.push(noun)
}

/** The operations of all nouns. */
export const nounRoutes = (parts: NounParts): Route[] => nouns.flatMap(noun => noun.routes?.(parts) ?? [])
