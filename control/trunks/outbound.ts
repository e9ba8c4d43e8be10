import { type CountryCode, parsePhoneNumber } from 'libphonenumber-js'
import type { DialTarget } from '../../media/protocol.ts'
import { E164, readPhone } from '../kernel/phone.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { credentialsOf } from './account.ts'
import { addressOfRecord, sipHost } from './address.ts'
import { userIn } from './do-not-call.ts'
import { identityFor, numbersToSign, signatureFor, type ToldOfCaller } from './outgoing-identity.ts'
import type { ConnectionRow } from './tables.ts'

/** A host of a connection. Null: found by DNS. */
export interface ConnectionHost {
  host: string
  port: number | null
  /** The lowest priority is tried first. */
  priority: number
  /** Share of the calls among hosts of the same priority. */
  weight: number
}

/** Price of calls with this prefix over a connection, for comparison only, in any unit. */
interface Rate {
  prefix: string
  cost: number
}

export interface WayOut {
  target: DialTarget
  connection: ConnectionRow
  /** The number or URI that the call is from. */
  from: string
}

/** What the choice of connections for an outbound call depends on. */
export interface OutgoingCall extends Partial<ToldOfCaller> {
  to: string
  from?: string | undefined
  /** The caller, for a transfer over a connection that shows it. */
  shown?: string | undefined
}

/** Maximum number of connections over which one call is tried. */
const MAX_WAYS = 5

/**
 * The connections for a number, best first: that of a payment line that is called, or of the calling number; then those whose `rates` cover
 * the number, cheapest first; if there is neither, the first one without `rates`. In each group, unreachable ones come last instead of
 * being left out, since our knowledge of them may be old.
 */
export async function waysOut(db: Db, tenant: Tenant, wanted: OutgoingCall, vault: Vault): Promise<WayOut[]> {
  const { to, from } = wanted
  const scoped = forTenant(db, tenant)
  const trunks = await outgoing(db, tenant)
  const numbers = scoped.select('phone_numbers').select(['number', 'connection_id', 'payment_line'])
  const known = await numbers.where('number', 'in', from === undefined ? [to] : [to, from]).execute()
  const line = known.find(({ number, payment_line }) => number === to && payment_line === 1)
  const owner = line?.connection_id ?? known.find(({ number }) => number === from)?.connection_id ?? null
  const connections = inOrder(trunks, to, owner).slice(0, MAX_WAYS)
  const candidates = numbersToSign(connections, wanted)
  const owned =
    candidates.length === 0
      ? []
      : await scoped.select('phone_numbers').select('number').where('number', 'in', candidates).execute()
  const ownNumbers = new Set(owned.map(row => row.number))
  return connections.map(connection => wayOver(connection, wanted, { vault, ownNumbers }))
}

/** Returns a function that tells whether a number could be dialled now, from one of these numbers of ours or from none. */
export async function linesOut(db: Db, tenant: Tenant, from: readonly string[]): Promise<(to: string) => boolean> {
  const trunks = await outgoing(db, tenant)
  const own = forTenant(db, tenant)
    .select('phone_numbers')
    .select('connection_id')
    .where('number', 'in', [...from])
  const owners = from.length === 0 ? [] : (await own.execute()).map(row => row.connection_id)
  if (trunks.some(({ id }) => owners.includes(id))) return () => true
  return to => inOrder(trunks, to, null).length > 0
}

/** Whether any connection can make outbound calls. */
export const anyLineOut = async (db: Db, tenant: Tenant): Promise<boolean> => (await outgoing(db, tenant)).length > 0

/** The connections that can make outbound calls. */
const outgoing = (db: Db, tenant: Tenant): Promise<ConnectionRow[]> =>
  forTenant(db, tenant)
    .select('connections')
    .selectAll()
    .where('kind', 'in', ['trunk', 'registration'])
    .where('enabled', '=', 1)
    .where('host', 'is not', null)
    .orderBy('id')
    .execute()

/** The calling number. A call for a transfer shows the original caller, if the connection allows that. */
const shownOver = ({ transfer_caller: rule }: ConnectionRow, { from, shown }: OutgoingCall): string | undefined =>
  shown !== undefined && rule === 'original' ? shown : from

/** The dial target for a number, or a name at the far end, over this connection only. */
export const targetOver = (connection: ConnectionRow, to: string, from: string | undefined, vault: Vault): DialTarget =>
  wayOver(connection, { to, from, ...(from !== undefined && { shown: from }) }, { vault, ownNumbers: new Set() }).target

/** A number in the format of a connection's far end; a SIP URI unchanged. */
export const uriAt = (connection: ConnectionRow, to: string): string =>
  to.startsWith('sip:') ? to : uriOver(connection, to)

function inOrder(trunks: readonly ConnectionRow[], to: string, ownId: string | null): ConnectionRow[] {
  const own = trunks.filter(({ id }) => id === ownId)
  const rated = trunks
    .flatMap(trunk => {
      const cost = costOf(trunk, to)
      return cost === null || trunk.id === ownId ? [] : [{ trunk, cost }]
    })
    .sort((a, b) => Number(isSilent(a.trunk)) - Number(isSilent(b.trunk)) || a.cost - b.cost)
    .map(({ trunk }) => trunk)
  if (own.length + rated.length > 0) return [...own, ...rated]
  const others = trunks.filter(({ rates }) => rates === '[]')
  const first = others.find(trunk => !isSilent(trunk)) ?? others[0]
  return first === undefined ? [] : [first]
}

const isSilent = ({ status }: ConnectionRow): boolean => status === 'unreachable'

/** The rate with the longest matching prefix; null: the connection has none for that number. */
function costOf({ rates }: ConnectionRow, number: string): number | null {
  const fitting = (JSON.parse(rates) as Rate[]).filter(({ prefix }) => number.startsWith(prefix))
  return fitting.sort((a, b) => b.prefix.length - a.prefix.length)[0]?.cost ?? null
}

function wayOver(
  connection: ConnectionRow,
  wanted: OutgoingCall,
  { vault, ownNumbers }: { vault: Vault; ownNumbers: ReadonlySet<string> },
): WayOut {
  const { to } = wanted
  const from = shownOver(connection, wanted)
  const host = sipHost(connection.host ?? '')?.inUri ?? ''
  const caller = from ?? connection.caller_number ?? accountOf(connection) ?? `sip:tandem@${host}`
  const sign = signatureFor(connection, { ...wanted, caller, isOthers: caller === wanted.shown }, ownNumbers)
  const uriOf = (address: string): string =>
    E164.test(address) ? `sip:${dialled(connection, address)}@${host}` : address
  const target: DialTarget = {
    uri: uriOver(connection, to),
    from: { uri: uriOf(caller) },
    ...wayOf(connection),
    tryNextOn: JSON.parse(connection.failover_on) as number[],
    isSilent: isSilent(connection),
    followRedirects: connection.follow_redirects === 1,
    connectionId: connection.id,
    ...(connection.calls_per_second === null ? {} : { callsPerSecond: connection.calls_per_second }),
    publicOnly: true,
    credentials: credentialsOf(vault, connection),
    identity: { ...identityFor(connection, { ...wanted, caller }, uriOf), ...(sign !== undefined && { sign }) },
    codecs: JSON.parse(connection.codecs) as DialTarget['codecs'],
    ...(connection.dtmf_mode === 'auto' ? {} : { dtmf: connection.dtmf_mode }),
    srtp: connection.srtp,
    ...(connection.reliable_provisional === 'off' ? { reliable: 'off' as const } : {}),
  }
  return { target, connection, from: caller }
}

function uriOver(connection: ConnectionRow, to: string): string {
  const { dial_prefix: prefix, port } = connection
  const host = sipHost(connection.host ?? '')?.inUri ?? ''
  const user = E164.test(to) ? `${prefix}${dialled(connection, to)}` : encodeURIComponent(to)
  return `sip:${user}@${host}${port === 5060 || port === 0 ? '' : `:${port}`}`
}

/** The next hops of a connection. A registrar may require a Service-Route (RFC 3608). */
function wayOf(connection: ConnectionRow): Pick<DialTarget, 'hosts' | 'route'> {
  const route = JSON.parse(connection.service_route) as string[]
  return route.length === 0 ? { hosts: hostsOf(connection) } : { hosts: [], route }
}

/** The hosts by priority, and within a priority at random by weight, like SRV records (RFC 2782). */
export function hostsOf(connection: ConnectionRow, random = Math.random): DialTarget['hosts'] {
  const { host, port, transport } = connection
  const via = (name: string, at: number | null): DialTarget['hosts'][number] => ({
    host: sipHost(name)?.bare ?? name,
    port: at === 0 ? null : at,
    transport: transport === 'any' ? null : transport,
  })
  const hosts = JSON.parse(connection.hosts) as ConnectionHost[]
  if (hosts.length === 0) return [via(host ?? '', port)]
  // Weighted random order (Efraimidis and Spirakis, 2006).
  return hosts
    .map(one => ({ one, chance: -Math.log(1 - random()) / one.weight }))
    .sort((a, b) => a.one.priority - b.one.priority || a.chance - b.chance)
    .map(({ one }) => via(one.host, one.port))
}

/** A number in the format of the connection. */
function dialled({ number_format: format, number_country: country }: ConnectionRow, number: string): string {
  if (format === 'e164') return number
  if (format === 'digits') return number.slice(1)
  const parsed = parsePhoneNumber(number)
  const text =
    parsed.country === country ? parsed.formatNational() : parsed.format('IDD', { fromCountry: country as CountryCode })
  return text.replace(/[^0-9*#]/g, '')
}

/** Shorter numbers are extensions or service numbers. */
const MIN_DIGITS = 7
const MAX_EMERGENCY_DIGITS = 3
const NAME = /[^0-9+*#]/

/** All numbers (E.164) that a far end's URI may mean; none for a name. */
export function numbersAt({ dial_prefix: prefix, number_country: country }: ConnectionRow, uri: string): string[] {
  const user = userIn(uri)
  const written = prefix !== '' && user.startsWith(prefix) ? [user, user.slice(prefix.length)] : [user]
  const read = written.flatMap(text => {
    if (E164.test(text)) return [text]
    if (!/^[0-9]+$/.test(text) || text.length < MIN_DIGITS) return []
    return [`+${text}`, readPhone(text, country) ?? ''].filter(number => E164.test(number))
  })
  return [...new Set(read)]
}

/**
 * Whether a connection with `rates` has one for every number that a far end's URI may mean. Numbers of at most three digits, such as
 * emergency numbers, are called in any case. Longer service numbers may be expensive, so they need a rate for all numbers.
 */
export function takesOut(connection: ConnectionRow, uri: string): boolean {
  if (connection.rates === '[]') return true
  const numbers = numbersAt(connection, uri)
  if (numbers.length > 0) return numbers.every(number => costOf(connection, number) !== null)
  const [user, digits] = [userIn(uri), userIn(uri).replace(/\D/g, '').length]
  if (digits <= MAX_EMERGENCY_DIGITS) return true
  return digits < MIN_DIGITS && (NAME.test(user) || costOf(connection, '+') !== null)
}

/** A registrar accepts calls only from the registered account; null: no registrar. */
function accountOf({ kind, auth_username: username, host }: ConnectionRow): string | null {
  const at = sipHost(host ?? '')
  return kind !== 'registration' || username === null || at === null ? null : addressOfRecord(username, at)
}
