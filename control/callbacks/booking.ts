import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { invalid, isProblem, type Problem } from '../http/errors.ts'
import { type Exists, referenceProblem } from '../http/references.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { newId } from '../kernel/ids.ts'
import { readPhone } from '../kernel/phone.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { BusinessHours } from '../organisation/business-hours.ts'
import type { CallbackSettings } from '../organisation/hours-schema.ts'
import { doNotCallProblem } from '../trunks/do-not-call.ts'
import { count } from '../usage/ledger.ts'
import { planCallback, type Returner, routeProblem, withNote } from './callback.ts'
import type { createBody } from './schema.ts'
import { type Callback, toCallback } from './schema-callback.ts'
import { authorOf, callbackOfCall, openCallbackTo, saveCallback } from './store.ts'
import type { CallbackRow } from './tables.ts'
import { wantSummary } from './want-summary.ts'

export interface CallbackDeps extends BookingDeps {
  store: Store
  exists: { user: Exists; assistant: Exists; queue: Exists; call: Exists }
}

/** The organisation's data that a booking needs. */
export interface BookingDeps {
  now: () => Date
  settings: (
    db: Db,
    tenant: Tenant,
  ) => Promise<{ country: string | null; businessHours: BusinessHours; callbacks: CallbackSettings }>
}

type Booking = Static<typeof createBody>

/** Books a callback, or returns the one that the number or the call already has. */
export async function book(deps: CallbackDeps, context: Context, body: Booking): Promise<Callback | Problem> {
  const refused = await referencesProblem(deps, context, body)
  if (refused !== null) return refused
  return context.transaction(async trx =>
    bookCallback(deps, trx, context, {
      ...body,
      source: 'api',
      author: await authorOf(trx, context),
    }),
  )
}

/** A booking with its source (specification, "Callback": `source`) and the author of its notes. */
export interface SourcedBooking extends Booking {
  source: 'queue' | 'ivr' | 'flow' | 'ai' | 'web' | 'manual' | 'voicemail' | 'api'
  author: string
  /** The website form that the request came from, with the page and language that its visitor saw. */
  site?: { id: string; page: string; language: string | null }
}

/** Books a callback in the transaction of its cause. The objects that it names must exist. */
export async function bookCallback(
  deps: BookingDeps,
  trx: Trx,
  tenant: Tenant,
  booking: SourcedBooking,
): Promise<Callback | Problem> {
  const { call_id } = booking
  const first = call_id === undefined ? undefined : await callbackOfCall(trx, tenant, call_id)
  if (first !== undefined) return toCallback(first)
  const fresh = await newCallback(deps, trx, tenant, booking)
  if (isProblem(fresh)) return fresh
  const open = await openCallbackTo(trx, tenant, fresh.phone)
  const row = open === undefined ? fresh : await mergeInto(trx, tenant, open, { booking, at: fresh.created })
  if (open === undefined) {
    await forTenant(trx, tenant).insert('callbacks', fresh)
    await count(trx, tenant, { sourceId: fresh.id, at: fresh.created, amounts: { callbacks: 1 } })
    const object = toCallback(fresh)
    await appendEvent(trx, tenant, { type: 'callback.created', at: fresh.created, object })
  }
  if (call_id !== undefined) {
    await forTenant(trx, tenant).insert('callback_requests', { origin_call_id: call_id, callback_id: row.id })
    // The summary of a running call is written once the call has ended.
    await wantSummary(trx, tenant, call_id, deps.now().toISOString())
  }
  return toCallback(row)
}

/** Merges a later request for the same number: it is counted and its note is kept; everything else stays. */
async function mergeInto(
  trx: Trx,
  tenant: Tenant,
  open: CallbackRow,
  { booking, at }: { booking: SourcedBooking; at: string },
): Promise<CallbackRow> {
  const { note: text, author } = booking
  const notes = withNote(open.notes, { text, at, author })
  const change = { merged_requests: open.merged_requests + 1, notes, updated: at }
  return saveCallback(trx, tenant, open, change, 'callback.merged')
}

/** The route of callbacks whose agent was deactivated. */
export const ANY_AGENT = { route: 'agent_queue', agent_id: null } as const

/** Who returns it. Whoever is named without a route is the route; whoever was named for another one is not any more. */
export async function returnerOf(
  db: Db,
  tenant: Tenant,
  sent: { [K in keyof Returner]?: Returner[K] | undefined },
  before: Returner,
): Promise<Returner> {
  const named = sent.agent_id ? 'agent' : sent.assistant_id ? 'assistant' : before.route
  const { route = named } = sent
  const { agent_id = route === 'agent' ? before.agent_id : null } = sent
  const { assistant_id = route === 'assistant' ? before.assistant_id : null } = sent
  const agent = agent_id === null ? undefined : await forTenant(db, tenant).find('users', agent_id)
  const isGone = route === 'agent' && agent?.status === 'deactivated'
  return { route, agent_id, assistant_id, ...(isGone && ANY_AGENT) }
}

async function newCallback(
  deps: BookingDeps,
  trx: Trx,
  tenant: Tenant,
  body: SourcedBooking,
): Promise<CallbackRow | Problem> {
  const { country, businessHours, callbacks } = await deps.settings(trx, tenant)
  const phone = readPhone(body.phone, country)
  if (phone === null) {
    const form = 'a number in E.164 (+15551234567)'
    const message =
      country === null
        ? `phone is not ${form}; local forms are accepted once the organisation's country is set.`
        : `phone is neither ${form} nor in the local form of ${country}.`
    return invalid('phone', message)
  }
  const blocked = await doNotCallProblem(trx, tenant, phone, 'phone')
  if (blocked !== null) return blocked
  const now = deps.now()
  const asked = { due_at: body.due_at ?? null, window_end: body.window_end ?? null }
  const plan = planCallback(asked, { hours: businessHours, slaMinutes: callbacks.sla_minutes, now })
  if (isProblem(plan)) return plan
  const at = now.toISOString()
  const unnamed = { route: callbacks.default_route, agent_id: null, assistant_id: null }
  const row: CallbackRow = {
    id: newId('callback'),
    ...ownedBy(tenant),
    phone,
    open_phone: phone,
    name: body.name ?? '',
    status: 'pending',
    source: (await isOfCampaign(trx, tenant, body)) ? 'campaign' : body.source,
    site_id: body.site?.id ?? null,
    ...plan,
    priority: body.priority ?? callbacks.api_priority,
    ...(await returnerOf(trx, tenant, body, unnamed)),
    queue_id: body.queue_id ?? null,
    attempts: 0,
    max_attempts: body.max_attempts ?? callbacks.max_attempts,
    last_attempt_at: null,
    last_result: null,
    call_id: null,
    origin_call_id: body.call_id ?? null,
    notes: withNote('', { text: body.note, at, author: body.author }),
    summary: null,
    merged_requests: 0,
    web_context: body.site === undefined ? null : JSON.stringify(webContextOf(body.site)),
    sla_missed_at: null,
    tried: null,
    offered_to: null,
    metadata: JSON.stringify(body.metadata ?? {}),
    completed_at: null,
    created: at,
    updated: at,
  }
  return routeProblem(row) ?? row
}

/** Whether it is requested in a campaign's call, which then is its source, whoever asks. */
async function isOfCampaign(trx: Trx, tenant: Tenant, { call_id, source }: SourcedBooking): Promise<boolean> {
  if (call_id === undefined || source === 'api') return false
  return (await forTenant(trx, tenant).findBy('campaign_attempts', { call_id })) !== undefined
}

const webContextOf = ({ page, language }: NonNullable<SourcedBooking['site']>) => ({ page, language })

/** Objects named by a request must exist. */
export const referencesProblem = (
  { store, exists }: CallbackDeps,
  context: Context,
  body: Partial<Record<'agent_id' | 'assistant_id' | 'queue_id' | 'call_id', string | null>>,
  db: Db = store.db,
): Promise<Problem | null> =>
  referenceProblem(db, context, [
    { param: 'agent_id', id: body.agent_id, kind: 'user', exists: exists.user },
    { param: 'assistant_id', id: body.assistant_id, kind: 'assistant', exists: exists.assistant },
    { param: 'queue_id', id: body.queue_id, kind: 'queue', exists: exists.queue },
    { param: 'call_id', id: body.call_id, kind: 'call', exists: exists.call },
  ])
