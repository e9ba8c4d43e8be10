import Type, { type Static } from 'typebox'
import { apiObject, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import { identityFields, identityOf } from './connection-identity.ts'
import { inboundAuthOf, shownCredentials } from './inbound-auth.ts'
import type { ConnectionRow } from './tables.ts'

export const dtmfMode = oneOf(['auto', 'rfc4733', 'inband', 'info'], {
  description:
    'How keys are sent and received. auto: by RFC 4733 if the far end supports it, otherwise as tones. Tones and SIP INFO are also accepted from it, tones until its first telephone event. The others: only in that way.',
})
export const srtp = oneOf(['off', 'optional', 'required', 'dtls'], {
  description:
    'Whether audio is encrypted (SRTP). off: never; a call that offers nothing else is refused with 488. required: always, in both directions, otherwise the call fails. optional: if the far end supports it. Both offer and accept keys in SDP and keys by DTLS. dtls: as required, with keys by DTLS alone. Keys in SDP are only as secret as the signalling, so use them with `transport` tls; with dtls, who can change the signalling can still listen.',
})

const connectionHost = Type.Object({
  host: Type.String(),
  port: nullable(Type.Integer()),
  priority: Type.Integer(),
  weight: Type.Integer(),
})

const rate = Type.Object({ prefix: Type.String(), cost: Type.Number() })

export const numberFormat = oneOf(['e164', 'digits', 'national'], {
  description:
    'How the far end writes called and calling numbers. e164: +442071838750; digits: 442071838750; national: as dialled in `number_country`.',
})

export const transfers = oneOf(['refuse', 'bridge', 'follow'], {
  description:
    "How a transfer requested by the far end (SIP REFER) is handled. refuse: 603; the default. bridge: we call the target over this connection, in the far end's place, and keep the audio. follow: the other party is asked to call the target itself if its connection has follow too, otherwise as bridge. With follow, our own transfers to a number are sent there by REFER, and the call leaves us on success.",
})
export const transferCaller = oneOf(['original', 'own'], {
  description:
    'Caller shown by a call that is made for a transfer. original: the original caller, which a carrier that accepts only its own numbers refuses. own: the number that was called. Absent: original.',
})
export const reliableProvisional = oneOf(['off', 'when_required', 'when_supported'], {
  description:
    'Whether ringing and early media are sent reliably (100rel, PRACK, RFC 3262). when_required: to callers that require it. when_supported: to all that support it. off: never; a caller that requires it and would ring is refused with 420. For outbound calls the far end decides, unless it is off.',
})

export const connectionSchema = apiObject('connection', {
  name: Type.String(),
  kind: Type.String({
    description:
      'trunk: outbound calls to numbers use it. registration: the same, and we register there with `auth` to get its calls. peer: inbound calls only.',
  }),
  host: nullable(Type.String()),
  port: nullable(Type.Integer()),
  transport: nullable(Type.String()),
  hosts: Type.Array(connectionHost),
  failover_on: Type.Array(Type.Integer()),
  follow_redirects: Type.Boolean(),
  rates: Type.Array(rate),
  number_format: numberFormat,
  number_country: nullable(Type.String()),
  dial_prefix: Type.String(),
  caller_number: nullable(Type.String()),
  ...identityFields,
  transfers,
  transfer_caller: transferCaller,
  auth: nullable(Type.Object({ username: Type.String() }, { description: 'The password is never returned.' })),
  allowed_ips: Type.Array(Type.String()),
  inbound_credentials: shownCredentials,
  inbound_auth: oneOf(['ip', 'digest', 'both']),
  codecs: Type.Array(Type.String()),
  dtmf_mode: dtmfMode,
  srtp,
  reliable_provisional: reliableProvisional,
  max_calls: nullable(Type.Integer()),
  calls_per_second: nullable(Type.Integer()),
  enabled: Type.Boolean(),
  status: Type.String({
    description:
      'disabled; enabled: the state of the far end is not known (yet); registered; reachable: it answers OPTIONS; unreachable: three OPTIONS were not answered, or the registration failed. Calls are tried in any case.',
  }),
  sip_code: nullable(
    Type.Integer({
      description: "Why it is unreachable: the far end's answer, 408 if there was none; null: it is reachable.",
    }),
  ),
  created: timestamp(),
  updated: timestamp(),
})

export type Connection = Static<typeof connectionSchema>

export const toConnection = (row: ConnectionRow): Connection =>
  showRow(connectionSchema, row, {
    port: row.port === 0 ? null : row.port,
    transport: row.transport === 'any' ? null : row.transport,
    ...identityOf(row),
    auth: row.auth_username === null ? null : { username: row.auth_username },
    inbound_credentials:
      row.inbound_username === null
        ? null
        : { username: row.inbound_username, algorithm: row.inbound_algorithm ?? 'MD5' },
    inbound_auth: inboundAuthOf(row),
    status: row.enabled === 1 ? (row.status ?? 'enabled') : 'disabled',
    sip_code: row.enabled === 1 ? row.sip_code : null,
  })
