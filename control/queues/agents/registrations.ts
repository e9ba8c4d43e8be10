import { type Events, isFailure, MAX_KEPT_PHONES } from '../../../media/protocol.ts'
import type { AccountDeps } from '../../calls/conductor/inbound/trunk-callers.ts'
import { noteUse } from '../../kernel/nodes/digest-uses.ts'
import { rowBy } from '../../kernel/store/compiled.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant, tenantOf } from '../../kernel/tenancy.ts'
import type { MediaPort } from '../../media-link/events.ts'
import type { CallCentre } from '../call-centre.ts'
import { noteLost } from '../lost-devices.ts'
import { joinRing } from '../ringing/late-devices.ts'
import { isReachedFrom, phoneOf } from './devices.ts'
import { ha1Of } from './ha1.ts'
import type { SipCredentialRow, SipRegistrationRow } from './tables.ts'

/** The shortest registration that is accepted, and the longest that is granted [s]. */
const MIN_EXPIRES_S = 60
const MAX_EXPIRES_S = 3600
/** Maximum number of contacts of one member. */
const MAX_CONTACTS = 10

export interface RegistrationDeps extends AccountDeps {
  centre: Pick<CallCentre, 'run'>
}

type Register = Events['sip.register']
type Contact = Pick<SipRegistrationRow, 'contact' | 'expires_at'>
type Outcome = { sipCode: 200 | 401 | 403 | 423 | 500; contacts: Contact[] }

/** The registrar (RFC 3261 §10.3): which account a REGISTER belongs to, and where its phones can be reached. */
export class Registrations {
  readonly #deps: RegistrationDeps

  constructor(deps: RegistrationDeps) {
    this.#deps = deps
  }

  /** Verifies, stores and answers one REGISTER. Never rejects; media itself answers what is not answered in time. */
  async handle(register: Register, media: MediaPort): Promise<void> {
    try {
      await this.#handle(register, media)
    } catch (error) {
      this.#deps.log.warn({ err: error, username: register.username }, 'a registration could not be kept')
    }
  }

  async #handle(register: Register, media: MediaPort): Promise<void> {
    const { store, vault, now, log, centre } = this.#deps
    const { registerId, username, source } = register
    // A username names one account of all organisations and modes.
    const account = await rowBy(store.db, 'sip_credentials', { username })
    const ha1 = account === undefined ? null : ha1Of(account, register.algorithm, vault)
    const checked = await media.request('sip.register_check', { registerId, ha1 })
    if (isFailure(checked) || account === undefined) return
    if (!checked.isRight) {
      log.info({ userId: account.id, source: source.host }, 'a registration was refused')
      return
    }
    const at = now()
    const isFirst = await noteUse(store, register.nonce, at)
    const outcome = isFirst ? await store.transaction(trx => keep(trx, account, register, at)) : refuse(401)
    await media.request('sip.register_reply', {
      registerId,
      sipCode: outcome.sipCode,
      contacts: outcome.contacts.map(contact => ({ uri: contact.contact, expiresS: secondsUntil(contact, at) })),
      minExpiresS: outcome.sipCode === 423 ? MIN_EXPIRES_S : null,
    })
    log.info({ userId: account.id, source: source.host, sipCode: outcome.sipCode }, 'registration')
    // The phone may have joined a ring that is in progress.
    if (outcome.sipCode === 200) await centre.run(media)
  }

  /** After a restart of either process: media keeps the ways to phones open, and does not know them any more. */
  async recover(media: MediaPort): Promise<void> {
    const { store, now } = this.#deps
    const at = now()
    const transport = 'udp' as const
    const here = { node: nodeOf(store.db), transport, path: '[]' }
    const rows = await store.db
      .selectFrom('sip_registrations')
      .select(['contact as uri', 'host', 'port', 'expires_at'])
      .where(({ eb, and }) => and([and(here), eb('expires_at', '>', at.toISOString())]))
      .limit(MAX_KEPT_PHONES)
      .execute()
    const phones = rows.map(({ expires_at, ...phone }) => ({
      ...phone,
      transport,
      expiresS: secondsUntil({ expires_at }, at),
    }))
    await media.request('sip.keep_open', { phones })
  }
}

const secondsUntil = ({ expires_at }: Pick<Contact, 'expires_at'>, at: Date): number =>
  Math.max(0, Math.round((Date.parse(expires_at) - at.getTime()) / 1000))

const refuse = (sipCode: 401 | 403 | 423 | 500): Outcome => ({ sipCode, contacts: [] })

/** All or nothing (RFC 3261 §10.3 step 7): if one contact is refused, all are. */
async function keep(trx: Trx, account: SipCredentialRow, register: Register, at: Date): Promise<Outcome> {
  const tenant = tenantOf(account)
  const user = await forTenant(trx, tenant).find('users', account.id)
  // The member may have been deactivated, or given another account, while the digest was checked.
  const current = await forTenant(trx, tenant).find('sip_credentials', account.id)
  if (user?.status !== 'active' || current?.username !== account.username) return refuse(403)
  if (register.user !== account.username) return refuse(403)
  if (register.contacts.some(({ expiresS }) => expiresS > 0 && expiresS < MIN_EXPIRES_S)) return refuse(423)
  const known = await contactsOf(trx, tenant, account.id, at)
  const touched = register.contacts.some(({ uri }) => uri === '*')
    ? known
    : known.filter(row => register.contacts.some(one => one.uri === row.contact || isSameWay(row, wayOf(one))))
  if (touched.some(row => row.call_id === register.callId && row.cseq >= register.cSeq)) return refuse(500)
  const rest = known.filter(row => !touched.includes(row))
  // If one is named twice, the last entry counts (RFC 3261 §10.3 processes them in order).
  const fresh = [...new Map(register.contacts.map(contact => [contact.uri, contact])).values()]
    .filter(({ uri, expiresS }) => uri !== '*' && expiresS > 0)
    .map(contact => ({ ...rowOf(account, register, contact, at), node: nodeOf(trx) }))
  if (rest.length + fresh.length > MAX_CONTACTS) return refuse(403)
  await forget(trx, tenant, account.id, touched, at)
  for (const row of fresh) await forTenant(trx, tenant).insert('sip_registrations', row)
  const added = fresh.filter(row => !known.some(one => one.contact === row.contact))
  // A refresh of a registration is no login.
  if (added.length > 0) await forTenant(trx, tenant).change('users', account.id, { last_login: at.toISOString() })
  for (const row of added) {
    // Over UDP there is no connection to go on: the earlier INVITE went to a port that the phone no longer uses.
    const former = touched.filter(
      one => row.transport !== 'udp' && one.transport === row.transport && isSameWay(one, row),
    )
    await joinRing(trx, tenant, account.id, phoneOf(row), at.toISOString(), former.map(phoneOf))
  }
  return { sipCode: 200, contacts: [...rest, ...fresh] }
}

type Way = Pick<SipRegistrationRow, 'instance' | 'reg_id'>

const wayOf = ({ flow }: Register['contacts'][number]): Way =>
  flow === undefined ? { instance: null, reg_id: null } : { instance: flow.instance, reg_id: flow.regId }

const isSameWay = (row: Way, { instance, reg_id }: Way): boolean =>
  instance !== null && row.instance === instance && row.reg_id === reg_id

const contactsOf = (trx: Trx, tenant: Tenant, userId: string, at: Date): Promise<SipRegistrationRow[]> =>
  forTenant(trx, tenant)
    .select('sip_registrations')
    .selectAll()
    .where('user_id', '=', userId)
    .where(isReachedFrom(nodeOf(trx)))
    .where('expires_at', '>', at.toISOString())
    .orderBy('registered_at')
    .execute()

/** Deletes these contacts of the member, and the expired ones. */
async function forget(
  trx: Trx,
  tenant: Tenant,
  userId: string,
  rows: readonly SipRegistrationRow[],
  at: Date,
): Promise<void> {
  const contacts = rows.map(row => row.contact)
  await forTenant(trx, tenant)
    .delete('sip_registrations')
    .where('user_id', '=', userId)
    .where(isReachedFrom(nodeOf(trx)))
    .where(({ eb, or }) =>
      or([eb('expires_at', '<=', at.toISOString()), ...(contacts.length === 0 ? [] : [eb('contact', 'in', contacts)])]),
    )
    .execute()
}

/**
 * A registration over a WebSocket ends when that closes, over another connection when that is dead (RFC 5626 §4.2.2). Calls then wait for its
 * member as they do after a softphone was lost. False: there was no such registration.
 */
export async function forgetPhonesOf(trx: Trx, source: Events['sip.gone']['source'], at: string): Promise<boolean> {
  const { transport, host, port } = source
  const rows = await trx
    .deleteFrom('sip_registrations')
    .where('node', '=', nodeOf(trx))
    .where('host', '=', host)
    .where('port', '=', port)
    .where('transport', '=', transport)
    .returningAll()
    .execute()
  for (const row of rows) {
    const tenant = tenantOf(row)
    if (row.expires_at > at) await noteLost(trx, tenant, row.user_id, at)
  }
  return rows.length > 0
}

const rowOf = (
  account: SipCredentialRow,
  { callId, cSeq, source, path = [] }: Register,
  contact: Register['contacts'][number],
  at: Date,
): Omit<SipRegistrationRow, 'node'> => ({
  organisation_id: account.organisation_id,
  livemode: account.livemode,
  user_id: account.id,
  contact: contact.uri,
  ...wayOf(contact),
  call_id: callId,
  cseq: cSeq,
  transport: source.transport,
  host: source.host,
  port: source.port,
  path: JSON.stringify(path),
  registered_at: at.toISOString(),
  expires_at: new Date(at.getTime() + Math.min(contact.expiresS, MAX_EXPIRES_S) * 1000).toISOString(),
})
