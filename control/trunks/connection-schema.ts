import Type, { type Static } from 'typebox'
import { nullable, oneOf, timestamp } from '../kernel/schema.ts'
import type { ConnectionRow } from './tables.ts'

export const dtmfMode = oneOf(['auto', 'rfc4733', 'inband', 'info'], {
  description:
    'How keys come and go. auto: by RFC 4733 where the far end takes it, else as tones; SIP INFO is understood too. The others: that way alone.',
})
export const srtp = oneOf(['off', 'optional', 'required'], {
  description:
    'Whether audio is encrypted (SRTP, with keys in SDP). off: never; a call that offers nothing else is refused with 488. required: always, both ways, or there is no call. optional: where the far end can. The keys stand in the signalling: they are secret only where that is, as with `transport` tls.',
})

export const connectionSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('connection'),
  livemode: Type.Boolean(),
  name: Type.String(),
  kind: Type.String({
    description:
      'trunk: numbers go out over it. registration: the same, and we register there with `auth`, so that its calls find us. peer: calls come from it.',
  }),
  host: nullable(Type.String()),
  port: Type.Integer(),
  transport: Type.String(),
  auth: nullable(Type.Object({ username: Type.String() }, { description: 'The password is never returned.' })),
  allowed_ips: Type.Array(Type.String()),
  codecs: Type.Array(Type.String()),
  dtmf_mode: dtmfMode,
  srtp,
  max_calls: nullable(Type.Integer()),
  enabled: Type.Boolean(),
  status: Type.String({
    description:
      'disabled; enabled: nothing is known of the far end (yet); registered; reachable: it answers OPTIONS; unreachable: three of them were not answered, or the registration failed. Calls are tried in any case.',
  }),
  sip_code: nullable(
    Type.Integer({
      description: 'Why it is unreachable: what the far end answered, 408 when it did not; null: it did.',
    }),
  ),
  created: timestamp(),
  updated: timestamp(),
})

export type Connection = Static<typeof connectionSchema>

export const toConnection = (row: ConnectionRow): Connection => ({
  id: row.id,
  object: 'connection',
  livemode: row.livemode === 1,
  name: row.name,
  kind: row.kind,
  host: row.host,
  port: row.port,
  transport: row.transport,
  auth: row.auth_username === null ? null : { username: row.auth_username },
  allowed_ips: JSON.parse(row.allowed_ips) as string[],
  codecs: JSON.parse(row.codecs) as string[],
  dtmf_mode: row.dtmf_mode,
  srtp: row.srtp,
  max_calls: row.max_calls,
  enabled: row.enabled === 1,
  status: row.enabled === 1 ? (row.status ?? 'enabled') : 'disabled',
  sip_code: row.enabled === 1 ? row.sip_code : null,
  created: row.created,
  updated: row.updated,
})
