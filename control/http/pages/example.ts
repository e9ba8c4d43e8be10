import { PREFIXES } from '../../kernel/ids.ts'
import { CURRENT_VERSION } from '../../kernel/versions/current.ts'
import type { Schema } from '../../kernel/versions/shape.ts'
import { kindOf } from '../versions/translate.ts'

/** Example values of fields with these names, if the schema alone does not suggest one. */
const BY_NAME: Record<string, string> = {
  to: '+15551234567',
  from: '+15557654321',
  phone: '+15551234567',
  number: '+15551234567',
  address: 'sip:ann@example.com',
  allowed_ip: '203.0.113.0/24',
  api_version: CURRENT_VERSION,
  close: '17:00',
  codec: 'PCMU',
  company: 'Example Ltd',
  // Two milliseconds of silence.
  content_base64: 'UklGRjQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YRAAAACAgICAgICAgICAgICAgICA',
  country: 'US',
  currency: 'GBP',
  description: 'Calls about orders.',
  dial_in: '+15557654321',
  digits: '1234#',
  email: 'ann@example.com',
  extension: '4711',
  fallback_model: 'default',
  goal: 'Find out what the caller needs.',
  greeting: 'Hello, how can I help you?',
  hint: 'sk_live_…9f2c',
  host: 'sip.example.com',
  idempotency_key: '5f0e6c1a-6d2b-4c4e-9f57-2a8a3b1f7c11',
  join_url: 'https://tandem.example.com/join/9f2c…',
  key: 'greeting',
  'flow.key': 'start',
  label: 'Greeting',
  language: 'en',
  message: 'We call you back.',
  model: 'large-model',
  name: 'Support',
  next: 'end',
  node_key: 'greeting',
  notes: '',
  open: '09:00',
  origin: 'https://www.example.com',
  path: '/v1/calls',
  phrase: 'opening hours',
  pin: '4711',
  prompt: 'You answer the phone of a bakery.',
  query: 'opening hours',
  reason: 'payment',
  recipient: 'ann@example.com',
  schedule: '0 7 * * 1',
  script: 'Hello, how can I help you?',
  secret: 'shown-once…',
  text: 'We open at nine.',
  timezone: 'Europe/London',
  url: 'https://example.com/tandem',
  voicemail: '1',
  callback: '2',
  ws_url: 'wss://tandem.example.com/v1/web_calls',
}
const BY_FORMAT: Record<string, string> = {
  'date-time': '2026-11-21T10:00:00.000Z',
  date: '2026-12-25',
  email: 'ann@example.com',
}
const ULID = '01kah3v5t9z8x7w6v5t4s3r2q1'

/** How much of an object an example shows: the required fields, or all. */
type Extent = 'required' | 'all'

/** Realistic objects of some kinds, by their `object`. */
export type Samples = ReadonlyMap<string, Readonly<Record<string, unknown>>>

interface Place {
  extent: Extent
  samples: Samples
  /** The field's name. */
  name: string
  /** The kind of the enclosing object. */
  object: string
}

/** A value that matches the schema. */
export const exampleOf = (schema: Schema, extent: Extent, samples: Samples = new Map()): unknown =>
  exampleAt(schema, { extent, samples, name: '', object: '' })

function exampleAt(schema: Schema, place: Place): unknown {
  const part = schema.anyOf?.find(one => one.type !== 'null') ?? schema
  const { name, object } = place
  if (part.const !== undefined) return part.const
  if (part.enum !== undefined) return part.default ?? part.enum[0]
  switch ([part.type].flat()[0]) {
    case 'object':
      return objectOf(part, place)
    case 'array':
      return part.items === undefined ? [] : [exampleAt(part.items, { ...place, name: name.replace(/s$/, '') })]
    case 'integer':
    case 'number':
      return part.default ?? part.minimum ?? 1
    case 'boolean':
      return part.default ?? true
    default:
      return (
        part.examples?.[0] ??
        BY_FORMAT[part.format ?? ''] ??
        idOf(name, object) ??
        BY_NAME[`${object}.${name}`] ??
        BY_NAME[name] ??
        firstWord(part) ??
        'text'
      )
  }
}

function objectOf(schema: Schema, place: Place): object {
  const fields = Object.entries(schema.properties ?? {})
  const object = kindOf(schema) ?? ''
  const sample = place.samples.get(object)
  const needed = fields.filter(([name]) => place.extent === 'all' || schema.required?.includes(name))
  // A change requires nothing: its first field is the example.
  const shown = needed.length === 0 ? fields.slice(0, 1) : needed
  return Object.fromEntries(
    shown.map(([name, field]) => [name, sample?.[name] ?? exampleAt(field, { ...place, name, object })]),
  )
}

/** Values in answers are not an `enum`, because more may be added: the description lists them. */
const firstWord = ({ description = '' }: Schema): string | undefined =>
  /^[`a-z0-9_.]+(?=(?:, [`a-z0-9_.]+)+(?:\.|;|$))/.exec(description)?.[0].replaceAll('`', '')

/** An ID of the kind that the field's name suggests. */
function idOf(name: string, object: string): string | undefined {
  const kind = name === 'id' ? object : /^(?:.*_)?([a-z]+(?:_[a-z]+)?)_id$/.exec(name)?.[1]
  const prefix = PREFIXES[(kind ?? '') as keyof typeof PREFIXES] ?? KINDS[kind ?? '']
  return prefix === undefined ? undefined : `${prefix}_${ULID}`
}

/** Kinds whose fields are named differently from their objects. */
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
  endpoint: PREFIXES.webhook_endpoint,
  copilot: PREFIXES.copilot_profile,
  sim: PREFIXES.flow_simulation,
}
