import type { Failure, StreamSnapshot, StreamSpec, Target } from '../../../media/protocol.ts'
import { customerAddresses } from '../../http/url-policy.ts'
import { rowsOf } from '../../kernel/store/compiled.ts'
import type { Db } from '../../kernel/store/store.ts'
import { ofTenant, type Tenant, tenantOf, valuesOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import { targetOf } from '../pci.ts'
import type { CallRow, MediaStreamRow } from '../tables.ts'

export interface StreamDeps {
  /** The `whsec_…` that signs upgrade requests of a tenant. */
  signingSecret: (db: Db, tenant: Tenant) => Promise<string>
  /** CIDR blocks of private networks that the operator allows. */
  allowedNetworks: string[]
}

/** Starts a stream whose row exists. Failure `conflict`: it was started already. */
export async function startStream(
  db: Db,
  deps: StreamDeps,
  media: MediaPort,
  call: CallRow,
  row: MediaStreamRow,
  request?: StreamSpec['request'],
): Promise<StreamSnapshot | Failure> {
  const target = await targetOf(db, call)
  if (target === null) return { failure: 'not_found', message: `call ${call.id} has no leg` }
  const spec = await streamSpec(db, deps, call, target, row)
  return media.request('stream.start', request === undefined ? spec : { ...spec, request })
}

export async function streamSpec(
  db: Db,
  deps: StreamDeps,
  call: CallRow,
  target: Target,
  row: MediaStreamRow,
): Promise<StreamSpec> {
  return {
    streamId: row.id,
    target,
    mode: row.mode,
    url: row.url,
    tracks: row.tracks,
    format: row.format,
    customParameters: JSON.parse(row.custom_parameters) as Record<string, string>,
    accountSid: row.organisation_id,
    callSid: call.id,
    signingSecret: await deps.signingSecret(db, tenantOf(row)),
    addresses: customerAddresses(deps.allowedNetworks),
  }
}

/** Requested streams that media has not reported yet. */
export const unstartedStreams = (db: Db, call: CallRow): Promise<MediaStreamRow[]> =>
  rowsOf(
    db,
    'unstarted streams',
    place =>
      ofTenant(db, 'media_streams', place)
        .selectAll()
        .where('call_id', '=', place('call'))
        .where('status', '=', 'connecting'),
    { call: call.id, ...valuesOf(tenantOf(call)) },
  )
