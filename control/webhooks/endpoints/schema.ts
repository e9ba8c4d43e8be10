import Type, { type Static } from 'typebox'
import { eventTypes } from '../../kernel/events/catalog.ts'
import { input, metadata, metadataChange, nullable, oneOf, partialInput, timestamp } from '../../kernel/schema.ts'
import { ALGORITHMS } from '../sign.ts'

const DAY_S = 24 * 60 * 60
/** How long the key before a rotation also signs, if the request does not say. */
export const DEFAULT_OVERLAP_S = DAY_S

const url = Type.String({ minLength: 1, maxLength: 2048, description: 'http:// or https://; gets the POST requests.' })
/** A function, because all event types are known only once the routes are built. */
const subscribed = () =>
  Type.Array(oneOf(['*', ...eventTypes()]), {
    minItems: 1,
    maxItems: 200,
    uniqueItems: true,
    description: 'Event types to subscribe to; `*` stands for every type, future ones too.',
  })
const algorithm = (text: string) => oneOf([...ALGORITHMS], { description: text })

/** Fields of an endpoint that can be set when it is created, and later. */
const always = () => ({
  url,
  description: nullable(Type.String({ maxLength: 500 })),
  event_types: subscribed(),
  api_version: Type.String({ maxLength: 40, description: 'API version of the payloads.' }),
})

export const createBody = () => {
  const chosen = algorithm('hmac: `v1` signatures, the default; ed25519: `v1a` signatures.')
  return input({ ...partialInput({ ...always(), algorithm: chosen, metadata }).properties, url })
}

export const changeBody = () => {
  const status = oneOf(['enabled', 'disabled'], { description: 'Disabling makes pending deliveries fail.' })
  return partialInput({ ...always(), status, metadata: metadataChange })
}
export type ChangeBody = Static<ReturnType<typeof changeBody>>

export const rotateBody = input({
  algorithm: Type.Optional(algorithm('Switches the endpoint to the other algorithm; absent: keeps it.')),
  overlap_s: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 7 * DAY_S,
      default: DEFAULT_OVERLAP_S,
      description: 'How long the current key signs too [s]; 0 if it has leaked.',
    }),
  ),
})

export const replayBody = () =>
  input({
    since: timestamp('Events that happened at this time or later.'),
    until: Type.Optional(timestamp('Events that happened before this time; absent: now.')),
    event_types: Type.Optional(subscribed()),
    undelivered_only: Type.Optional(
      Type.Boolean({ default: false, description: 'Leaves out events that this endpoint has accepted (2xx).' }),
    ),
  })
export type ReplayBody = Static<ReturnType<typeof replayBody>>

export const replaySchema = Type.Object({
  object: Type.Literal('webhook_replay'),
  endpoint_id: Type.String(),
  livemode: Type.Boolean(),
  deliveries: Type.Integer({ description: 'How many deliveries were queued.' }),
})

/** Specification, "WebhookEndpointPublicKey". */
export const publicKeySchema = Type.Object({
  object: Type.Literal('webhook_endpoint_public_key'),
  endpoint_id: Type.String(),
  algorithm: Type.Literal('ed25519'),
  signature_version: Type.Literal('v1a'),
  public_key: nullable(
    Type.String({
      description:
        '`whpk_` and base64 of the 32 bytes; null after a switch back to hmac, while the last key still overlaps.',
    }),
  ),
  public_key_pem: nullable(Type.String({ description: 'The same key as SPKI PEM.' })),
  previous_public_key: nullable(
    Type.String({ description: 'The previous key; it signs too until `previous_expires_at`.' }),
  ),
  previous_public_key_pem: nullable(Type.String()),
  previous_expires_at: nullable(timestamp()),
  livemode: Type.Boolean(),
})
