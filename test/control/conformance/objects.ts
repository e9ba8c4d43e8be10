import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { writeLeg } from '../../../control/calls/legs.ts'
import { insertParty } from '../../../control/calls/records.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { nodeOf } from '../../../control/kernel/store/node.ts'
import { forTenant, type Tenant } from '../../../control/kernel/tenancy.ts'
import { wantReview } from '../../../control/quality/want-review.ts'
import { buildJobs } from '../../../control/wiring/background.ts'
import { type Answer, START, silent } from '../app-harness.ts'
import { APP_CONFIG, VAULT } from '../whole-app.ts'
import type { ProductWorld } from './product.ts'

/** Lists of what the product itself provides: in no table, and the same for every organisation. */
export const CATALOGUES = ['/languages', '/voices', '/models', '/flow_templates', '/copilot_templates']

/** A tool whose server does not exist. */
export const TOOL = { name: 'state', http: { url: 'http://nowhere.invalid/', timeout_ms: 500 } }

/** IDs in the path of an operation, by parameter name. */
export type Ids = Record<string, string>

export interface Maker {
  world: ProductWorld
  tenant: Tenant
  /** A request with a key of that organisation and mode; fails unless it succeeds. */
  ask(line: string, body?: object): Promise<Answer['body']>
}

export function makerOf(world: ProductWorld, whose: 'ours' | 'theirs' = 'ours', livemode = true): Maker {
  const { organisationId, keys } = world[whose]
  return {
    world,
    tenant: { organisationId, livemode },
    ask: async (line, body = {}) => {
      const made = await world.ask(line, { key: livemode ? keys.live : keys.test, body })
      assert.ok(made.status < 300, `${line}: ${made.text}`)
      return made.body
    },
  }
}

let serial = 0
export const another = (): number => ++serial

const WAV = Buffer.concat([
  Buffer.from('RIFF'),
  Buffer.from([0x64, 1, 0, 0]),
  Buffer.from('WAVEfmt '),
  Buffer.from([16, 0, 0, 0, 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 16, 0]),
  Buffer.from('data'),
  Buffer.from([0x40, 1, 0, 0]),
  Buffer.alloc(320),
])
export const WAV_BASE64 = WAV.toString('base64')

/** A call that is in progress, of one phone; in the room's session, when there is one. */
export async function makeCall(
  { world, tenant }: Maker,
  more: { roomId?: string; ended?: boolean } = {},
): Promise<Ids> {
  const [callId, legId] = [newId('call'), newId('participant')]
  const at = START.toISOString()
  const roomId = more.roomId ?? null
  await world.store.transaction(async trx => {
    const target = roomId === null ? ('park' as const) : ('room' as const)
    const ends = { callId, legId, direction: 'inbound' as const, to: 'sip:1@127.0.0.1', from: 'sip:2@127.0.0.1' }
    const same = {
      target,
      roomId,
      connectionId: null,
      metadata: {},
      role: 'member' as const,
      muted: false,
    }
    await insertParty(trx, tenant, { ...ends, ...same }, at)
    const scoped = forTenant(trx, tenant)
    const status = more.ended ? { status: 'completed' as const, ended_at: at } : { status: 'in_progress' as const }
    await scoped
      .update('calls')
      .set({ ...status, answered_at: at })
      .where('id', '=', callId)
      .execute()
    const step = more.ended ? ({ step: 'ended', left_at: at } as const) : ({ step: 'settled', joined_at: at } as const)
    await writeLeg(trx, tenant, legId, step)
  })
  return { id: callId, participant_id: legId }
}

/** A call of a page. */
async function makeWebCall(maker: Maker): Promise<Ids> {
  const { id = '' } = await makeCall(maker)
  const made = { id, assistant_id: null, origin: 'https://shop.example', name: 'Eve', created: START.toISOString() }
  await forTenant(maker.world.store.db, maker.tenant).insert('web_calls', made)
  return { id }
}

/** A call with an agent who asks somebody about it. */
async function makeConsultation(maker: Maker): Promise<Ids> {
  const { id = '' } = await makeCall(maker)
  const at = START.toISOString()
  for (const purpose of ['direct', 'consult'] as const) {
    await forTenant(maker.world.store.db, maker.tenant).insert('rings', {
      id: newId('ring'),
      call_id: id,
      open_call: purpose === 'direct' ? id : null,
      user_id: null,
      open_user: null,
      queue_id: null,
      callback_id: null,
      purpose,
      state: 'talking',
      started_at: at,
      deadline: at,
      leg_id: null,
      mode: null,
      node_id: 'node',
    })
  }
  return { id }
}

/** A member whose phone is registered. */
export async function makeAgent(maker: Maker): Promise<string> {
  const { id = '' } = await makeUser(maker)
  await forTenant(maker.world.store.db, maker.tenant).insert('browser_sessions', {
    id: `browser-${another()}`,
    user_id: id,
    node: nodeOf(maker.world.store.db),
    origin: null,
    device: null,
    connected_at: START.toISOString(),
  })
  return id
}

/** A waiting import. Earlier ones are ended first, since only few may wait. */
async function makeImport(maker: Maker): Promise<Ids> {
  const imports = forTenant(maker.world.store.db, maker.tenant).update('imports')
  await imports.set({ status: 'completed' }).execute()
  const file = { content_base64: Buffer.from('phone\n+14155580001\n').toString('base64') }
  return withId(maker.ask('POST /v1/imports', { target: 'do_not_call_numbers', file }))
}

async function makeRecording(maker: Maker, status: 'ready' | 'recording', paused = 0): Promise<Ids> {
  const { id = '' } = await makeCall(maker)
  const folder = join(maker.world.dataDir, 'recordings')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${id}.wav`), WAV)
  await forTenant(maker.world.store.db, maker.tenant).insert('recordings', {
    call_id: id,
    status,
    file: `${id}.wav`,
    sample_rate: 8000,
    duration_ms: 20,
    size_bytes: WAV.length,
    channels: '[]',
    segments: '[]',
    paused,
    created: START.toISOString(),
  })
  return { id }
}

/** A finished call with a transcript of its agent. */
export async function makeReviewedCall(maker: Maker): Promise<Ids> {
  const { id = '', participant_id = '' } = await makeTranscript(maker)
  const scoped = forTenant(maker.world.store.db, maker.tenant)
  const at = START.toISOString()
  await scoped.update('calls').set({ status: 'completed', ended_at: at }).where('id', '=', id).execute()
  const left = { role: 'agent' as const, left_at: at }
  await scoped.update('participants').set(left).where('id', '=', participant_id).execute()
  const { store, clock, dataDir } = maker.world
  await store.transaction(trx => wantReview(trx, maker.tenant, id, at))
  const jobs = buildJobs({ store, config: { ...APP_CONFIG, dataDir }, vault: VAULT, now: clock.now, log: silent })
  await jobs.runDue()
  await jobs.close()
  return { id }
}

async function makeEvaluation(maker: Maker): Promise<Ids> {
  const { id: callId = '' } = await makeReviewedCall(maker)
  await maker.ask('PATCH /v1/organisation', {
    qa_rubric: [{ key: 'greeting', label: 'Greets', check: { kind: 'phrases', phrases: ['hello'] } }],
  })
  return withId(maker.ask(`POST /v1/calls/${callId}/qa`))
}

/** A call that a flow has led, with one turn. */
async function makeFlowRun(maker: Maker): Promise<Ids> {
  const { id = '', participant_id = '' } = await makeCall(maker)
  const at = START.toISOString()
  const scoped = forTenant(maker.world.store.db, maker.tenant)
  await scoped.insert('call_programs', {
    id,
    leg_id: participant_id,
    kind: 'assistant',
    flow_id: null,
    flow_version: null,
    assistant_id: newId('assistant'),
    status: 'ended',
    state: null,
    end_reason: 'caller_hangup',
    hops: 0,
    created: at,
    ended_at: at,
  })
  return { id }
}

/** A call of which one line was written down. */
async function makeTranscript(maker: Maker, status: 'ready' | 'running' = 'ready'): Promise<Ids> {
  const { id = '', participant_id = '' } = await makeCall(maker)
  const scoped = forTenant(maker.world.store.db, maker.tenant)
  const at = START.toISOString()
  await scoped.insert('transcripts', { id, status, language: 'en', duration_ms: 4000, created: at })
  await scoped.insert('transcript_segments', {
    id: newId('transcript_segment'),
    call_id: id,
    participant_id,
    text: 'Hello.',
    start_ms: 0,
    end_ms: 500,
  })
  return { id }
}

/** A member with a phone that has registered. */
export async function makePhone(maker: Maker): Promise<Ids> {
  const { id = '' } = await makeUser(maker)
  const { store } = maker.world
  await forTenant(store.db, maker.tenant).insert('sip_registrations', {
    ...{ user_id: id, contact: `sip:${id}@192.0.2.7`, node: nodeOf(store.db), call_id: 'c', cseq: 1, transport: 'udp' },
    ...{ host: '192.0.2.7', port: 5060, registered_at: START.toISOString(), expires_at: '2099-01-01T00:00:00.000Z' },
  })
  return { id }
}

async function makeVoicemail(maker: Maker, status: 'ready' | 'recording'): Promise<Ids> {
  const { id: callId = '' } = await makeRecording(maker, 'ready')
  const id = newId('voicemail')
  await forTenant(maker.world.store.db, maker.tenant).insert('voicemails', {
    id,
    call_id: callId,
    queue_id: null,
    user_id: null,
    from_address: 'sip:2@127.0.0.1',
    status,
    file: `${callId}.wav`,
    duration_ms: 20,
    created: START.toISOString(),
  })
  return { id }
}

const COPILOT = {
  name: 'Copilot',
  stages: [
    { key: 'open', label: 'Opening', checklist: [{ key: 'greet', label: 'Greet' }] },
    { key: 'close', label: 'Close' },
  ],
  fields: [{ key: 'city', label: 'City' }],
  objections: [{ key: 'price', label: 'Price', triggers: ['too expensive'] }],
}

/** The message of the last session, to be dismissed. */
export const shown = new WeakMap<ProductWorld, string>()

async function lastMessageOf({ world, tenant }: Maker, sessionId: string): Promise<string> {
  const messages = forTenant(world.store.db, tenant).select('copilot_messages').select('id')
  const rows = messages.where('session_id', '=', sessionId).orderBy('seq', 'desc').limit(1)
  return (await rows.executeTakeFirstOrThrow()).id
}

/** A copilot beside the party of a call, with an objection that it shows. */
async function makeCopilotSession(maker: Maker): Promise<Ids> {
  const { id: callId } = await makeCall(maker)
  const { id: profile_id } = await maker.ask('POST /v1/copilot_profiles', COPILOT)
  const { id = '' } = await withId(maker.ask(`POST /v1/calls/${callId}/copilot`, { profile_id }))
  return { id, key: 'greet' }
}

const withId = async (made: Promise<{ id: string }>): Promise<Ids> => ({ id: (await made).id })

async function makeUser(maker: Maker, status: 'active' | 'invited' = 'active'): Promise<Ids> {
  const { user_id: id } = await maker.ask('POST /v1/invitations', { email: `u${another()}@example.com` })
  if (status === 'active') await maker.ask(`PATCH /v1/users/${id}`, { status })
  return { id }
}

async function makeRoomWithGuest(maker: Maker): Promise<Ids> {
  const { id = '' } = await withId(maker.ask('POST /v1/conference_rooms', { name: 'Room' }))
  const { participant_id = '' } = await makeCall(maker, { roomId: id })
  return { id, participant_id }
}

async function makeStream(maker: Maker): Promise<Ids> {
  const { id = '' } = await makeCall(maker)
  const made = await maker.ask(`POST /v1/calls/${id}/streams`, { url: 'wss://93.184.216.34/' })
  return { id, stream_id: made.id }
}

export const makeTrunk = (maker: Maker): Promise<Ids> =>
  withId(maker.ask('POST /v1/connections', { name: 'Trunk', kind: 'trunk', host: '93.184.216.34' }))

async function makeDelivery(maker: Maker): Promise<Ids> {
  const { id } = await maker.ask('POST /v1/webhook_endpoints', { url: 'https://93.184.216.34/' })
  return withId(maker.ask(`POST /v1/webhook_endpoints/${id}/ping`))
}

/** A finished run, whose files exist. */
async function makeReportRun(maker: Maker): Promise<Ids> {
  const { store, clock, dataDir } = maker.world
  const report = { name: 'Calls', kind: 'calls', recipients: ['ann@example.com'] }
  const { id } = await maker.ask('POST /v1/reports', report)
  const { id: run_id } = await maker.ask(`POST /v1/reports/${id}/run`)
  const jobs = buildJobs({ store, config: { ...APP_CONFIG, dataDir }, vault: VAULT, now: clock.now, log: silent })
  await jobs.runDue()
  await jobs.close()
  return { id, run_id }
}

/** A campaign led by an assistant, after these verbs. */
async function makeCampaign(maker: Maker, verbs: string[] = []): Promise<Ids> {
  const { id: assistant_id } = await maker.ask('POST /v1/assistants', { name: 'Assistant' })
  const { id = '' } = await withId(maker.ask('POST /v1/campaigns', { name: 'Campaign', assistant_id }))
  for (const verb of verbs) await maker.ask(`POST /v1/campaigns/${id}/${verb}`)
  return { id }
}

/** A campaign in mode `preview`, with a contact and an available agent; `claims`: who has claimed it. */
async function makePreview(maker: Maker, claims: boolean): Promise<Ids> {
  const userId = await makeAgent(maker)
  await maker.ask(`PUT /v1/agents/${userId}/status`, { status: 'available' })
  const { id: queue_id } = await maker.ask('POST /v1/queues', { name: 'Queue', member_user_ids: [userId] })
  const { id = '' } = await withId(
    maker.ask('POST /v1/campaigns', { name: 'Preview', queue_id, mode: 'preview', allowed_hours: null }),
  )
  const number = maker.tenant.livemode ? `+1415557${1000 + another()}` : '+15005550006'
  await maker.ask(`POST /v1/campaigns/${id}/contacts`, { contacts: [{ phone: number }] })
  await maker.ask(`POST /v1/campaigns/${id}/start`)
  shown.set(maker.world, userId)
  if (!claims) return { id }
  const contact = await maker.ask(`POST /v1/campaigns/${id}/claim`, { user_id: userId })
  return { id, contact_id: contact.id }
}

const freeNumber = (maker: Maker): object => (maker.tenant.livemode ? { number: `+1555010${1000 + another()}` } : {})

/** Makers of new objects, by the beginning of the path of operations with an ID. The longest match counts. */
export const MAKERS: Record<string, (maker: Maker) => Promise<Ids>> = {
  '/agents/:id': makeUser,
  '/users/:id': makeUser,
  '/invitations/:id': maker => withId(maker.ask('POST /v1/invitations', { email: `u${another()}@example.com` })),
  '/users/:id/sip_credential': async maker => {
    const { id = '' } = await makeUser(maker)
    await maker.ask(`POST /v1/users/${id}/sip_credential`)
    return { id }
  },
  '/assistants/:id': maker => withId(maker.ask('POST /v1/assistants', { name: 'Assistant' })),
  '/copilot_profiles/:id': maker => withId(maker.ask('POST /v1/copilot_profiles', { name: 'Profile' })),
  'GET /flow_templates/:id': async () => ({ id: 'reception' }),
  'GET /copilot_templates/:id': async () => ({ id: 'sales' }),
  'GET /voices/:id': async () => ({ id: 'slt' }),
  'GET /voices/:id/preview': async () => ({ id: 'slt' }),
  'GET /models/:id': async () => ({ id: 'default' }),
  '/copilot_sessions/:id': maker => makeCopilotSession(maker),
  '/copilot_sessions/:id/fields': async maker => ({ ...(await makeCopilotSession(maker)), key: 'city' }),
  '/copilot_sessions/:id/dismiss': async maker => {
    const ids = await makeCopilotSession(maker)
    await maker.ask(`POST /v1/copilot_sessions/${ids.id}/ask`, { question: 'When do you open?' })
    shown.set(maker.world, await lastMessageOf(maker, ids.id ?? ''))
    return ids
  },
  '/test_helpers/copilot/:id': maker => makeCopilotSession(maker),
  '/campaigns/:id': makeCampaign,
  '/campaigns/:id/pause': maker => makeCampaign(maker, ['start']),
  '/campaigns/:id/resume': maker => makeCampaign(maker, ['start', 'pause']),
  '/campaigns/:id/stop': maker => makeCampaign(maker, ['start']),
  '/campaigns/:id/claim': maker => makePreview(maker, false),
  '/campaigns/:id/contacts/:contact_id/dial': maker => makePreview(maker, true),
  '/campaigns/:id/contacts/:contact_id/skip': maker => makePreview(maker, true),
  '/campaigns/:id/contacts/:contact_id': async maker => {
    const { id = '' } = await makeCampaign(maker)
    const number = maker.tenant.livemode ? `+1415557${1000 + another()}` : '+15005550006'
    await maker.ask(`POST /v1/campaigns/${id}/contacts`, { contacts: [{ phone: number }] })
    const contacts = forTenant(maker.world.store.db, maker.tenant).select('campaign_contacts').select('id')
    const contact = await contacts.where('campaign_id', '=', id).executeTakeFirstOrThrow()
    return { id, contact_id: contact.id }
  },
  '/do_not_call/:id': maker => withId(maker.ask('POST /v1/do_not_call', { phone: `+1415556${1000 + another()}` })),
  '/imports/:id': makeImport,
  '/consents/:id': maker =>
    withId(
      maker.ask('POST /v1/consents', {
        ...{ phone: `+1415557${1000 + another()}`, purpose: 'call' },
        evidence: { type: 'form', text: 'Yes.' },
      }),
    ),
  '/callbacks/:id': maker => withId(maker.ask('POST /v1/callbacks', { phone: `+1415555${1000 + another()}` })),
  '/sites/:id': maker => withId(maker.ask('POST /v1/sites', { name: 'Shop', origins: ['https://shop.example'] })),
  '/queues/:id': maker => withId(maker.ask('POST /v1/queues', { name: 'Queue' })),
  '/teams/:id': maker => withId(maker.ask('POST /v1/teams', { name: 'Team' })),
  '/audio_assets/:id': maker => withId(maker.ask('POST /v1/audio_assets', { file: { content_base64: WAV_BASE64 } })),
  '/kb/documents/:id': maker => withId(maker.ask('POST /v1/kb/documents', { text: 'We open at nine.' })),
  '/reports/:id/runs/:run_id': makeReportRun,
  '/reports/:id': maker =>
    withId(maker.ask('POST /v1/reports', { name: 'Calls', kind: 'calls', recipients: ['ann@example.com'] })),
  '/partner/organisations/:id': maker => withId(maker.ask('POST /v1/partner/organisations', { name: 'Client' })),
  '/partner/organisations/:id/resume': async maker => {
    const { id = '' } = await withId(maker.ask('POST /v1/partner/organisations', { name: 'Client' }))
    await maker.ask(`POST /v1/partner/organisations/${id}/suspend`)
    return { id }
  },
  '/partner/organisations/:id/api_keys/:key_id': async maker => {
    const { id = '' } = await withId(maker.ask('POST /v1/partner/organisations', { name: 'Client' }))
    const { id: key_id } = await maker.ask(`POST /v1/partner/organisations/${id}/api_keys`, {})
    return { id, key_id }
  },
  '/api_keys/:id': maker => withId(maker.ask('POST /v1/api_keys', {})),
  '/calls/:id': makeCall,
  'DELETE /calls/:id': maker => makeCall(maker, { ended: true }),
  '/calls/:id/unhold': async maker => {
    const { id = '' } = await makeCall(maker)
    await maker.ask(`POST /v1/calls/${id}/hold`)
    return { id }
  },
  '/calls/:id/transfer/complete': makeConsultation,
  '/calls/:id/transfer/cancel': makeConsultation,
  '/calls/:id/streams/:stream_id': makeStream,
  '/calls/:id/flow_run': makeFlowRun,
  '/calls/:id/transcript': maker => makeTranscript(maker),
  '/calls/:id/summary': makeReviewedCall,
  '/calls/:id/qa': makeReviewedCall,
  '/qa_evaluations/:id': makeEvaluation,
  '/calls/:id/transcript/start': makeCall,
  '/calls/:id/transcript/stop': maker => makeTranscript(maker, 'running'),
  '/messages/:id': async maker =>
    withId(maker.ask('POST /v1/messages', { to_user_id: (await makePhone(maker)).id, text: 'Hello.' })),
  '/web_calls/:id': makeWebCall,
  '/voicemails/:id': maker => makeVoicemail(maker, 'ready'),
  '/calls/:id/recording': maker => makeRecording(maker, 'ready'),
  '/calls/:id/recording/start': makeCall,
  '/calls/:id/recording/pause': maker => makeRecording(maker, 'recording'),
  '/calls/:id/recording/resume': maker => makeRecording(maker, 'recording', 1),
  '/calls/:id/recording/stop': maker => makeRecording(maker, 'recording'),
  '/conference_rooms/:id': maker => withId(maker.ask('POST /v1/conference_rooms', { name: 'Room' })),
  '/conference_rooms/:id/participants': makeRoomWithGuest,
  '/connections/:id': makeTrunk,
  '/events/:id': async maker => {
    await makeCall(maker)
    const events = forTenant(maker.world.store.db, maker.tenant).select('events').select('id')
    return events.limit(1).executeTakeFirstOrThrow()
  },
  '/flows/:id/unarchive': async maker => {
    const { id } = await maker.ask('POST /v1/flows', { name: 'Flow' })
    return withId(maker.ask(`POST /v1/flows/${id}/archive`))
  },
  '/flows/:id': maker => withId(maker.ask('POST /v1/flows', { name: 'Flow' })),
  '/inbound_routes/:id': maker =>
    withId(maker.ask('POST /v1/inbound_routes', { match: { to: '7' }, target: { type: 'echo' } })),
  '/request_logs/:id': async ({ tenant, world }) => {
    const { live, test } = world.ours.keys
    const { headers } = await world.ask('GET /v1/teams', { key: tenant.livemode ? live : test })
    return { id: String(headers['request-id']) }
  },
  '/secrets/:id': maker => withId(maker.ask('POST /v1/secrets', { name: `KEY_${another()}`, value: 'open sesame' })),
  '/tools/:id': maker => withId(maker.ask('POST /v1/tools', TOOL)),
  '/webhook_endpoints/:id': maker =>
    withId(maker.ask('POST /v1/webhook_endpoints', { url: 'https://93.184.216.34/', algorithm: 'ed25519' })),
  '/webhook_deliveries/:id': makeDelivery,
  '/phone_numbers/:id': maker => withId(maker.ask('POST /v1/phone_numbers', freeNumber(maker))),
}

/** The maker of an object for the path of an operation; null: the path has no ID. */
function makingFor(path: string, method: string): ((maker: Maker) => Promise<Ids>) | null {
  const special = MAKERS[`${method} ${path}`]
  if (special !== undefined) return special
  if (!path.includes(':')) return null
  const base = Object.keys(MAKERS)
    .filter(one => path === one || path.startsWith(`${one}/`))
    .sort((a, b) => b.length - a.length)[0]
  assert.ok(base, `objects.ts makes nothing for ${path}`)
  return MAKERS[base]!
}

/** A fresh object for the path of an operation. */
export const idsFor = async (path: string, maker: Maker, method = 'GET'): Promise<Ids> =>
  (await makingFor(path, method)?.(maker)) ?? {}

const untouched = new WeakMap<Maker, Map<object, Promise<Ids>>>()

/** IDs for a request that will be refused and so changes nothing: one object serves all operations at its path. */
export function untouchedIdsFor(path: string, maker: Maker, method: string): Promise<Ids> {
  const made = untouched.get(maker) ?? new Map<object, Promise<Ids>>()
  untouched.set(maker, made)
  const making = makingFor(path, method)
  if (making === null) return Promise.resolve({})
  const ids = made.get(making) ?? making(maker)
  made.set(making, ids)
  return ids
}

export { makeRecording, makeUser, makeVoicemail }
