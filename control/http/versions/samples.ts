import { eventTypes, kindOfEvent } from '../../kernel/events/catalog.ts'
import { CURRENT_VERSION } from '../../kernel/versions/current.ts'
import type { Json } from '../../kernel/versions/shape.ts'
import { renderEvent } from './translate.ts'

/** The most complete sample of each kind of object in events, by its `object`, in the shape of a version. */
export function samplesOf(version: string): Map<string, Json> {
  const samples = new Map<string, Json>()
  for (const type of eventTypes()) {
    const event = { type, api_version: CURRENT_VERSION, data: { object: kindOfEvent(type)?.sample as Json } }
    const { object } = renderEvent(event, version).data
    const known = samples.get(String(object.object))
    if (known === undefined || blanks(object) < blanks(known)) samples.set(String(object.object), object)
  }
  return samples
}

const blanks = (object: Json): number => Object.values(object).filter(value => value === null).length
