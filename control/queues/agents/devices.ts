import type { ExpressionBuilder } from 'kysely'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { Device } from '../ringing/rings.ts'
import type { DeviceTables, SipRegistrationRow } from './tables.ts'

/**
 * The devices on which a member can be reached now: registered SIP phones and connected softphones, newest first. An inactive member has none.
 */
export async function devicesOf(db: Db, tenant: Tenant, userId: string, now: Date = new Date()): Promise<Device[]> {
  const own = forTenant(db, tenant)
  if ((await own.find('users', userId))?.status !== 'active') return []
  const phones = await own
    .select('sip_registrations')
    .select(['contact', 'host', 'port', 'transport', 'path', 'instance'])
    .where('user_id', '=', userId)
    .where(isReachedFrom(nodeOf(db)))
    .where('expires_at', '>', now.toISOString())
    .orderBy('registered_at', 'desc')
    .execute()
  const browsers = await own
    .select('browser_sessions')
    .select('id')
    .where('user_id', '=', userId)
    // Another node's WebSockets are out of our reach.
    .where('node', '=', nodeOf(db))
    .orderBy('connected_at', 'desc')
    .execute()
  // A phone that registers over several flows (RFC 5626) rings once.
  const newest = phones.filter(
    ({ instance }, i) => instance === null || phones.findIndex(phone => phone.instance === instance) === i,
  )
  return [...newest.map(phoneOf), ...browsers.map(({ id }): Device => ({ kind: 'browser', browserId: id }))]
}

/** Phones that a node reaches: those registered with itself, and those whose proxy leads every node to them (RFC 3327). */
export const isReachedFrom =
  (node: string) =>
  ({ eb, or }: ExpressionBuilder<DeviceTables, 'sip_registrations'>) =>
    or([eb('node', '=', node), eb('path', '!=', '[]')])

type Registered = Pick<SipRegistrationRow, 'contact' | 'host' | 'port' | 'transport' | 'path'>

/** The dial target of a registered phone. */
export function phoneOf({ contact, host, port, transport, path }: Registered): Device & { kind: 'sip' } {
  const route: string[] = JSON.parse(path)
  return { kind: 'sip', uri: contact, via: { host, port, transport }, ...(route.length === 0 ? {} : { route }) }
}
