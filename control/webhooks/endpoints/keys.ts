import type { Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { conflict, missing } from '../../http/errors.ts'
import { operations, type Route } from '../../http/route.ts'
import type { Store } from '../../kernel/store/store.ts'
import { forTenant } from '../../kernel/tenancy.ts'
import type { Vault } from '../../kernel/vault.ts'
import { overlaps, toWebhookEndpoint, webhookEndpointWithSecretSchema } from '../endpoint-schema.ts'
import { newSigningKey, publicKeyPem } from '../sign.ts'
import type { WebhookEndpointRow } from '../tables.ts'
import { DEFAULT_OVERLAP_S, publicKeySchema, rotateBody } from './schema.ts'

const api = operations('Webhooks', 'webhooks')

interface KeyDeps {
  store: Store
  vault: Vault
  now: () => Date
}

export function keyRoutes(deps: KeyDeps): Route[] {
  const { store, now } = deps
  return [
    api.post({
      path: '/webhook_endpoints/:id/rotate_key',
      id: 'rotateWebhookEndpointKey',
      summary: 'Rotate the signing key of a webhook endpoint',
      description:
        'Deliveries are signed with the new key at once, and with the previous key too until `previous_expires_at`. A second rotation ends an older overlap.',
      body: rotateBody,
      reply: webhookEndpointWithSecretSchema,
      handler: (context, { params, body }) => rotate(deps, context, params.id, body),
    }),
    api.get({
      path: '/webhook_endpoints/:id/public_key',
      id: 'getWebhookEndpointPublicKey',
      summary: 'Retrieve the public key of a webhook endpoint',
      description: 'Verifies the `v1a` signatures. 409 `resource_conflict` for an endpoint that signs with hmac only.',
      reply: publicKeySchema,
      errors: [409],
      handler: async (context, { params }) => {
        const row = await forTenant(store.db, context).find('webhook_endpoints', params.id)
        if (row === undefined) return missing('webhook_endpoint', params.id)
        return toPublicKey(row, now()) ?? conflict('not_ed25519', `${row.id} signs with hmac, which has no public key.`)
      },
    }),
  ]
}

async function rotate({ vault, now }: KeyDeps, context: Context, id: string, body: Static<typeof rotateBody>) {
  const at = now()
  const overlapS = body.overlap_s ?? DEFAULT_OVERLAP_S
  return context.withRow('webhook_endpoints', 'webhook_endpoint', id, async (trx, row) => {
    const key = newSigningKey(body.algorithm ?? row.algorithm)
    const kept = overlapS > 0
    const change = {
      algorithm: key.algorithm,
      signing_key: vault.seal(key.secret, id),
      public_key: key.publicKey,
      previous_algorithm: kept ? row.algorithm : null,
      previous_signing_key: kept ? row.signing_key : null,
      previous_public_key: kept ? row.public_key : null,
      previous_expires_at: kept ? new Date(at.getTime() + overlapS * 1000).toISOString() : null,
      updated: at.toISOString(),
    }
    await forTenant(trx, context).change('webhook_endpoints', id, change)
    const secret = key.algorithm === 'hmac' ? key.secret : null
    return { ...toWebhookEndpoint({ ...row, ...change }, at), secret }
  })
}

/** Null: neither the current key nor one that still overlaps is Ed25519. */
function toPublicKey(row: WebhookEndpointRow, now: Date): Static<typeof publicKeySchema> | null {
  const previous = overlaps(row, now) ? row.previous_public_key : null
  if (row.public_key === null && previous === null) return null
  return {
    object: 'webhook_endpoint_public_key',
    endpoint_id: row.id,
    algorithm: 'ed25519',
    signature_version: 'v1a',
    public_key: row.public_key,
    public_key_pem: row.public_key === null ? null : publicKeyPem(row.public_key),
    previous_public_key: previous,
    previous_public_key_pem: previous === null ? null : publicKeyPem(previous),
    previous_expires_at: previous === null ? null : row.previous_expires_at,
    livemode: row.livemode === 1,
  }
}
