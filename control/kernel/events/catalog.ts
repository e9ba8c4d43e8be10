import type { Static, TSchema } from 'typebox'

export interface EventKind {
  /** The schema of `data.object`. */
  object: TSchema
  /** A realistic `data.object`, for documentation and for test events. */
  sample: object
}

export const eventKind = <T extends TSchema>(object: T, sample: Static<T>): EventKind => ({
  object,
  sample: sample as object,
})

/** Every event type that the product emits: each noun adds those of its `events.ts` (`declare module`). */
// biome-ignore lint/suspicious/noEmptyInterface: merged with what the nouns declare
export interface EventTypes {}
export type EventType = keyof EventTypes & string

const kinds = new Map<string, EventKind>()

/** Registers a noun's event types, once per process (`event-catalog.ts`). All lists of types are derived from it. */
export function registerEvents(events: Readonly<Record<string, EventKind>>): void {
  for (const [type, kind] of Object.entries(events)) kinds.set(type, kind)
}

/** Every type that was registered. */
export const eventTypes = (): EventType[] => [...kinds.keys()] as EventType[]

/** Undefined for a type that no longer exists, or does not exist yet. */
export const kindOfEvent = (type: string): EventKind | undefined => kinds.get(type)
