import type { AgentCore } from './agent-core.ts'
import type { Binding, HeaderFields, Peer, RegisterContact, RegisterReply } from './agent-types.ts'
import { nonceUseOf } from './auth/digest.ts'
import type { Refusal } from './inspect-request.ts'
import { safeValue } from './message/format.ts'
import { type NameAddr, parseDeltaSeconds, parseNameAddr } from './message/headers.ts'
import { ownCopy, type SipRequest, toText } from './message/message.ts'
import { paramValue, unquote } from './message/params.ts'
import { parseUri, userOf } from './message/uri.ts'
import { authRefusal, challengeAnew, digestFor, judgeClaim, refusal } from './phones/phone-auth.ts'
import type { ServerTransaction } from './transaction/transactions.ts'

/** Maximum contacts in one REGISTER, and maximum length of a URI [characters]. */
const MAX_CONTACTS = 10
const MAX_URI = 500
/** RFC 5626 §4.2. */
const MAX_REG_ID = 2 ** 31 - 1
/** The default expiry of a contact (RFC 3261 §10.3) [s]. */
const DEFAULT_EXPIRES_S = 3600
/**
 * The registrar's half of RFC 3261 §10.3: a request without a fresh digest of ours is challenged, statelessly; others are
 * passed on. The owner decides who that is, and what is stored.
 */
export function registerRefusal(core: AgentCore, request: SipRequest, now: number): Refusal | null {
  if (!('host' in parseUri(request.to.uri))) return refusal(400)
  const refused = authRefusal(core, request, now)
  if (refused !== null) return refused
  const contacts = contactsOf(request)
  return 'refuse' in contacts ? refusal(contacts.refuse) : null
}

/** Passes on a registration that `registerRefusal` has accepted. */
export function onRegister(core: AgentCore, transaction: ServerTransaction, from: Peer): void {
  const { request } = transaction
  const to = parseUri(request.to.uri)
  const given = digestFor(core, request)
  const contacts = contactsOf(request)
  if (!('host' in to) || given === null || 'refuse' in contacts) return
  const registerId = core.options.random()
  core.registrar!.open.set(registerId, { transaction, given })
  core.register({
    registerId,
    user: userOf(to) ?? '',
    host: to.host,
    contacts: contacts.list,
    bindings: contacts.bindings,
    username: toText(given.username),
    realm: toText(given.realm),
    algorithm: given.algorithm,
    nonce: nonceUseOf(given),
    callId: toText(request.callId),
    cSeq: request.cseq.number,
    path: request.headers.list('path').map(toText),
    peer: from,
  })
}

/** Verifies the digest of an open REGISTER: see `judgeClaim`. */
export const checkRegister = (core: AgentCore, registerId: string, ha1: string | null, now: number): boolean | null =>
  core.registrar === null ? null : judgeClaim(core, core.registrar.open, registerId, ha1, now)

/** Answers an open REGISTER; false if it is not open. */
export function answerRegister(core: AgentCore, registerId: string, reply: RegisterReply, now: number): boolean {
  const open = core.registrar?.open.get(registerId)
  if (open === undefined) return false
  core.registrar?.open.delete(registerId)
  if (reply.status === 401) {
    const { status, headers } = challengeAnew(core, open.transaction.request, now)
    core.refuse(open.transaction, status, now, headers)
    return true
  }
  const { status, contacts, minExpiresS, retryAfterS } = reply
  const headers: HeaderFields = [
    ...contacts.map(({ uri, expiresS }) => ['Contact', `<${uri}>;expires=${expiresS}`] as const),
    ...(reply.path ?? []).map(value => ['Path', safeValue(value)] as const),
    ...(minExpiresS === null ? [] : [['Min-Expires', String(minExpiresS)] as const]),
    ...(retryAfterS === null ? [] : [['Retry-After', String(retryAfterS)] as const]),
  ]
  core.refuse(open.transaction, status, now, headers)
  return true
}

/** The contacts with the time each asks for (RFC 3261 §10.2.1.1); `*` stands alone and with 0. */
function contactsOf(request: SipRequest): { list: RegisterContact[]; bindings: Binding[] } | { refuse: number } {
  const values = request.headers.list('contact')
  const asked = request.headers.get('expires')
  const usual = asked === null ? DEFAULT_EXPIRES_S : (parseDeltaSeconds(asked) ?? DEFAULT_EXPIRES_S)
  if (values.includes('*')) {
    return values.length === 1 && usual === 0 ? { list: [{ uri: '*', expiresS: 0 }], bindings: [] } : { refuse: 400 }
  }
  if (values.length > MAX_CONTACTS) return { refuse: 403 }
  const contacts = values.map(value => contactOf(value, usual))
  if (contacts.includes(null)) return { refuse: 400 }
  const read = contacts as Contact[]
  return {
    list: read.map(({ listed }) => listed),
    bindings: read.flatMap(({ listed, binding }) => (listed.expiresS > 0 ? [binding] : [])),
  }
}

interface Contact {
  listed: RegisterContact
  /** Which phone it is of, while it lasts. */
  binding: Binding
}

/** A Contact value; null: it is none, or not a SIP URI. */
function contactOf(value: string, usualS: number): Contact | null {
  const contact = parseNameAddr(value)
  const uri = contact === null ? null : parseUri(contact.uri)
  if (contact === null || uri === null || 'error' in uri) return null
  if ((uri.scheme !== 'sip' && uri.scheme !== 'sips') || contact.uri.length > MAX_URI) return null
  const own = paramValue(contact.params, 'expires')
  const expiresS = own === null ? usualS : (parseDeltaSeconds(own) ?? usualS)
  const instance = instanceOf(contact)
  const regId = instance === null ? null : regIdOf(contact)
  const flow = instance === null || regId === null ? {} : { flow: { instance: toText(instance), regId } }
  const phone = ownCopy(instance ?? `${userOf(uri) ?? ''}@${uri.host.toLowerCase()}`)
  return {
    listed: { uri: toText(contact.uri), expiresS, ...flow },
    binding: { phone, uri: toText(contact.uri), ...(regId === null ? {} : { regId }) },
  }
}

function instanceOf({ params }: NameAddr): string | null {
  const instance = unquote(paramValue(params, '+sip.instance') ?? '')
  return instance === '' || instance.length > MAX_URI ? null : instance
}

function regIdOf({ params }: NameAddr): number | null {
  const regId = parseDeltaSeconds(paramValue(params, 'reg-id') ?? '')
  return regId === null || regId === 0 || regId > MAX_REG_ID ? null : regId
}
