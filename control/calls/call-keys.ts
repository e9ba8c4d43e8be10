import { together } from '../kernel/store/after-commit.ts'
import { insertRows } from '../kernel/store/compiled.ts'
import type { Trx } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'

/** A key by which calls are found: `number` with the dialled or calling number, or `metadata.KEY` with its value. */
export interface CallKey {
  name: string
  value: string
}

interface KeyedCall {
  to_address: string
  from_address: string
  metadata: string
}

const SIP_USER = /^sips?:([^@;]+)@/i

/** A SIP address is also found by its user part: whoever searches for a number does not know the host. */
function keysOf({ to_address, from_address, metadata }: KeyedCall): CallKey[] {
  const numbers = [to_address, from_address].flatMap(address => [address, SIP_USER.exec(address)?.[1] ?? address])
  const pairs = Object.entries(JSON.parse(metadata) as Record<string, string>)
  return [
    ...[...new Set(numbers)].map(value => ({ name: 'number', value })),
    ...pairs.map(([key, value]) => ({ name: metadataKey(key), value })),
  ]
}

export const metadataKey = (key: string): string => `metadata.${key}`

export async function insertCallKeys(trx: Trx, tenant: Tenant, call: KeyedCall & { id: string }): Promise<void> {
  const { organisationId: organisation_id } = tenant
  const livemode = tenant.livemode ? 1 : 0
  const keys = keysOf(call).map(key => ({ organisation_id, livemode, call_id: call.id, ...key }))
  await together(trx, 'call_keys', keys, rows => insertRows(trx, 'call_keys', rows))
}
