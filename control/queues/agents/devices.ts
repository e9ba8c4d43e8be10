import type { ExpressionBuilder } from 'kysely'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { Device } from '../ringing/rings.ts'
import type { DeviceTables, SipRegistrationRow } from './tables.ts'

/**
 * The devices on which a member can be reached now: registered SIP phones and connected softphones, newest first. An inactive member has none.
 * A phone that is registered with several nodes is called by this one.
 */
export async function devicesOf(db: Db, tenant: Tenant, userId: string, now: Date = new Date()): Promise<Device[]> {
  const own = forTenant(db, tenant)
  if ((await own.find('users', userId))?.status !== 'active') return []
  const phones = await own
    .select('sip_registrations')
    .leftJoin('nodes', join =>
      join.onRef('nodes.id', '=', 'node').on('nodes.id', '!=', nodeOf(db)).on('nodes.lost_at', 'is', null),
    )
    .select(['contact', 'host', 'port', 'transport', 'path', 'instance', 'nodes.sip'])
    .where('user_id', '=', userId)
    .where(({ or, eb }) => or([eb('node', '=', nodeOf(db)), eb('path', '!=', '[]'), eb('nodes.sip', 'is not', null)]))
    .where('expires_at', '>', now.toISOString())
    .orderBy('registered_at', 'desc')
    .execute()
  const browsers = await own
    .select('browser_sessions')
    .leftJoin('nodes', 'nodes.id', 'node')
    .select('browser_sessions.id')
    .where('user_id', '=', userId)
    .where(({ or, eb, and }) =>
      or([eb('node', '=', nodeOf(db)), and([eb('nodes.ws', 'is not', null), eb('nodes.lost_at', 'is', null)])]),
    )
    .orderBy('connected_at', 'desc')
    .execute()
  // A phone that registers over several flows (RFC 5626), or with several nodes, rings once.
  const newest = phones.filter(({ instance, contact, sip }, i) =>
    instance === null
      ? sip === null || !phones.some(phone => phone.sip === null && phone.contact === contact)
      : phones.findIndex(phone => phone.instance === instance) === i,
  )
  return [...newest.map(phoneOf), ...browsers.map(({ id }): Device => ({ kind: 'browser', browserId: id }))]
}

/** Phones that a node reaches: those registered with itself, and those whose proxy leads every node to them (RFC 3327). */
export const isReachedFrom =
  (node: string) =>
  ({ eb, or }: ExpressionBuilder<DeviceTables, 'sip_registrations'>) =>
    or([eb('node', '=', node), eb('path', '!=', '[]')])

type Registered = Pick<SipRegistrationRow, 'contact' | 'host' | 'port' | 'transport' | 'path'> & { sip?: string | null }

/** The dial target of a registered phone; `sip`: the address of the other node that has it, without which it is this one. */
export function phoneOf({ contact, host, port, transport, path, sip }: Registered): Device & { kind: 'sip' } {
  const route: string[] = JSON.parse(path)
  const phone = { kind: 'sip' as const, uri: contact, via: { host, port, transport } }
  if (route.length > 0) return { ...phone, route }
  return sip == null ? phone : { ...phone, via: { ...phone.via, node: sip } }
}
