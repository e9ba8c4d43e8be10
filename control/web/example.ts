import { PREFIXES } from '../ids.ts'
import type { Schema } from './schema-table.ts'

/** What fields of these names hold, where their schema does not tell by itself. */
const BY_NAME: Record<string, string> = {
  to: '+15551234567',
  from: '+15557654321',
  phone: '+15551234567',
  number: '+15551234567',
  country: 'US',
  digits: '1234#',
  host: 'sip.example.com',
  language: 'en',
  name: 'Support',
  open: '09:00',
  close: '17:00',
  pin: '4711',
  query: 'opening hours',
  timezone: 'Europe/London',
  url: 'https://example.com/tandem',
}
const BY_FORMAT: Record<string, string> = {
  'date-time': '2026-11-21T10:00:00.000Z',
  date: '2026-12-25',
  email: 'ann@example.com',
}
const ULID = '01kah3v5t9z8x7w6v5t4s3r2q1'

/** How much of an object an example shows: what has to be sent, or all that is answered. */
export type Extent = 'required' | 'all'

/** A value that fits the schema; `name` is the field's, `object` the kind of object that it is in. */
export function exampleOf(schema: Schema, extent: Extent, name = '', object = ''): unknown {
  const part = schema.anyOf?.find(one => one.type !== 'null') ?? schema
  if (part.const !== undefined) return part.const
  if (part.enum !== undefined) return part.default ?? part.enum[0]
  switch ([part.type].flat()[0]) {
    case 'object':
      return objectOf(part, extent)
    case 'array':
      return part.items === undefined ? [] : [exampleOf(part.items, extent, name.replace(/s$/, ''), object)]
    case 'integer':
    case 'number':
      return part.default ?? part.minimum ?? 1
    case 'boolean':
      return part.default ?? true
    default:
      return BY_FORMAT[part.format ?? ''] ?? idOf(name, object) ?? BY_NAME[name] ?? 'text'
  }
}

function objectOf(schema: Schema, extent: Extent): object {
  const fields = Object.entries(schema.properties ?? {})
  const object = String(schema.properties?.object?.const ?? '')
  const needed = fields.filter(([name]) => extent === 'all' || schema.required?.includes(name))
  // A change needs nothing: its first field stands for all.
  const shown = needed.length === 0 ? fields.slice(0, 1) : needed
  return Object.fromEntries(shown.map(([name, field]) => [name, exampleOf(field, extent, name, object)]))
}

/** An ID of the kind that the field names. */
function idOf(name: string, object: string): string | undefined {
  const kind = name === 'id' ? object : /^(?:.*_)?([a-z]+(?:_[a-z]+)?)_id$/.exec(name)?.[1]
  const prefix = PREFIXES[(kind ?? '') as keyof typeof PREFIXES] ?? KINDS[kind ?? '']
  return prefix === undefined ? undefined : `${prefix}_${ULID}`
}

/** Kinds that fields call otherwise than their objects. */
const KINDS: Record<string, string> = {
  agent: PREFIXES.user,
  agent_user: PREFIXES.user,
  member_user: PREFIXES.user,
  member_team: PREFIXES.team,
  room: PREFIXES.conference_room,
  origin_call: PREFIXES.call,
  audio_asset: PREFIXES.audio_asset,
  document: PREFIXES.kb_document,
  owner: PREFIXES.user,
}
