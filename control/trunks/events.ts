import { type EventKind, eventKind as of } from '../kernel/events/catalog.ts'
import { CREATED } from '../kernel/events/sample-call.ts'
import { type Connection, connectionSchema } from './connection-schema.ts'
import { type PhoneNumber, phoneNumberSchema } from './number-schema.ts'

const registeredConnection: Connection = {
  id: 'conn_01k90000000000000000000040',
  object: 'connection',
  livemode: true,
  name: 'Carrier',
  kind: 'registration',
  host: 'sip.example.com',
  port: 5060,
  transport: 'udp',
  auth: { username: '15550100100' },
  allowed_ips: [],
  inbound_credentials: null,
  inbound_auth: 'ip',
  codecs: ['PCMU', 'PCMA'],
  dtmf_mode: 'auto',
  srtp: 'off',
  reliable_provisional: 'when_required',
  hosts: [],
  failover_on: [503],
  follow_redirects: false,
  rates: [],
  number_format: 'e164',
  number_country: null,
  dial_prefix: '',
  caller_number: null,
  identity: 'from',
  redirect_headers: 'diversion',
  trust_identity: false,
  show_private_callers: false,
  transfers: 'refuse',
  transfer_caller: 'original',
  sign_calls: false,
  verify_calls: 'off',
  max_calls: null,
  calls_per_second: null,
  enabled: true,
  status: 'registered',
  sip_code: null,
  created: CREATED,
  updated: CREATED,
}

const reachableConnection: Connection = { ...registeredConnection, kind: 'trunk', status: 'reachable' }

const unreachableConnection: Connection = { ...registeredConnection, status: 'unreachable', sip_code: 403 }

const phoneNumber: PhoneNumber = {
  id: 'pn_01k90000000000000000000009',
  object: 'phone_number',
  livemode: false,
  number: '+15550100100',
  connection_id: null,
  payment_line: false,
  created: CREATED,
  updated: CREATED,
}

export const trunkEvents = {
  'connection.registered': of(connectionSchema, registeredConnection),
  'connection.reachable': of(connectionSchema, reachableConnection),
  'connection.unreachable': of(connectionSchema, unreachableConnection),
  'phone_number.created': of(phoneNumberSchema, phoneNumber),
  'phone_number.deleted': of(phoneNumberSchema, phoneNumber),
} as const satisfies Record<string, EventKind>

declare module '../kernel/events/catalog.ts' {
  interface EventTypes extends Record<keyof typeof trunkEvents, true> {}
}
