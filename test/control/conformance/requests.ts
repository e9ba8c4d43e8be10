import type { Route } from '../../../control/http/route.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { START } from '../app-harness.ts'
import {
  another,
  type Ids,
  type Maker,
  makeAgent,
  makeCall,
  makePhone,
  makeRecording,
  makeTrunk,
  makeUser,
  makeVoicemail,
  shown,
  TOOL,
  WAV_BASE64,
} from './objects.ts'
import { example, type Shape } from './shapes.ts'

/** Bodies that succeed, by operation ID, where the smallest body of the schema does not, or is not of interest. */
const BODIES: Record<string, (maker: Maker) => Promise<object> | object> = {
  createAudioAsset: () => ({ file: { content_base64: WAV_BASE64 } }),
  createCall: () => ({ to: 'sip:a@192.0.2.1' }),
  createCallback: () => ({
    phone: `+1415555${1000 + another()}`,
    metadata: { order: '7' },
    due_at: '2026-12-01T10:00:00+02:00',
  }),
  assignCopilotSession: async maker => ({ user_id: (await makeUser(maker)).id }),
  createTestUtterances: () => ({ utterances: [{ party: 'customer', text: 'It is too expensive.' }] }),
  dismissCopilotMessage: maker => ({ message_id: shown.get(maker.world) ?? '' }),
  startCopilot: async maker => ({
    profile_id: (await maker.ask('POST /v1/copilot_profiles', { name: 'Copilot' })).id,
  }),
  claimCampaignContact: maker => ({ user_id: shown.get(maker.world) ?? '' }),
  dialCampaignContact: maker => ({ user_id: shown.get(maker.world) ?? '' }),
  skipCampaignContact: maker => ({ user_id: shown.get(maker.world) ?? '', reason: 'On holiday.' }),
  addCampaignContacts: () => ({ contacts: [{ phone: `+1415557${1000 + another()}`, metadata: { order: '7' } }] }),
  createDoNotCallNumber: () => ({ phone: `+1415556${1000 + another()}` }),
  checkDoNotCallNumbers: () => ({ phones: ['+14155560001'] }),
  createImport: () => ({
    target: 'do_not_call_numbers',
    file: { content_base64: Buffer.from('phone\n+14155580001\n').toString('base64') },
    mapping: { phone: 'phone' },
    metadata: { order: '7' },
  }),
  createConsent: () => ({
    phone: `+1415557${1000 + another()}`,
    purpose: 'call',
    evidence: { type: 'form', text: 'Yes.' },
    metadata: { order: '7' },
  }),
  createConnection: () => ({ name: 'Trunk', kind: 'trunk', host: '93.184.216.34' }),
  createInboundRoute: () => ({ match: { to: '7' }, target: { type: 'echo' } }),
  createInvitation: () => ({ email: `u${another()}@example.com` }),
  createKbDocument: () => ({ text: 'We open at nine.' }),
  createPhoneNumber: () => ({ number: `+1555020${1000 + another()}` }),
  createSite: () => ({ name: 'Shop', origins: ['https://shop.example'] }),
  createStream: () => ({ url: 'wss://93.184.216.34/' }),
  createMessage: async maker => ({ to_user_id: (await makePhone(maker)).id, text: 'Lunch at one?' }),
  createSecret: () => ({ name: `KEY_${another()}`, value: 'open sesame' }),
  createTool: () => TOOL,
  createTestEvent: () => ({ type: 'call.ended' }),
  createWebhookEndpoint: () => ({ url: 'https://93.184.216.34/' }),
  inviteConferenceParticipant: () => ({ to: 'sip:a@192.0.2.1' }),
  playInCall: async maker => ({
    audio_asset_id: (await maker.ask('POST /v1/audio_assets', { file: { content_base64: WAV_BASE64 } })).id,
  }),
  restoreTool: () => ({ version: 1 }),
  rotateSecret: () => ({ value: 'another sesame' }),
  replayWebhookEndpoint: () => ({ since: START.toISOString() }),
  setAgentStatus: () => ({ status: 'away' }),
  superviseCall: async maker => ({ mode: 'monitor', user_id: await makeAgent(maker) }),
  transferCall: () => ({ to: '+14155550123' }),
  reviewQaEvaluation: async maker => ({
    reviewer_user_id: (await makeUser(maker)).id,
    criteria: [{ key: 'greeting', score: 80 }],
  }),
  updateCallParticipant: () => ({ audio: { auto_gain: true } }),
  updateOrganisation: () => ({ name: 'Ours' }),
  updateQaEvaluation: () => ({ criteria: [{ key: 'greeting', score: 80 }], reason: 'She greets.' }),
  writeFlowDraft: () => ({ base_rev: 1, graph: { nodes: [] } }),
}

/** A body with which an operation succeeds. */
export async function bodyFor(id: string, shape: Shape, maker: Maker): Promise<object> {
  return (await BODIES[id]?.(maker)) ?? (example(shape) as object)
}

/** Method and path of an operation. A parameter without an ID in `ids` gets one that does not exist. */
export const lineOf = (route: Route, ids: Ids): string =>
  `${route.method} /v1${route.path.replace(/:([a-z_]+)/g, (_, param) => ids[param] ?? 'usr_01k90000000000000000000003')}`

/** A request that must answer this status. */
interface Special {
  operation: string
  status: number
  /** Creates the object; returns the rest of the request. */
  make(maker: Maker): Promise<{ ids: Ids; body?: object }>
}

const special = (operation: string, status: number, make: Special['make']): Special => ({ operation, status, make })
const named = async (made: Promise<{ id: string }>): Promise<Ids> => ({ id: (await made).id })

/** Conflicts of the object's state, where no idempotency key makes one. */
export const SPECIALS: Special[] = [
  ...['listCallSipMessages', 'getCallSipCapture'].map(operation =>
    special(operation, 409, async maker => {
      const { id = '', participant_id: legId = '' } = await makeCall(maker)
      const legs = forTenant(maker.world.store.db, maker.tenant).update('participants')
      await legs.set({ node_id: 'another' }).where('id', '=', legId).execute()
      return { ids: { id } }
    }),
  ),
  special('getVoicemailContent', 409, async maker => ({ ids: await makeVoicemail(maker, 'recording') })),
  special('getRecordingContent', 409, async maker => ({ ids: await makeRecording(maker, 'recording') })),
  special('setAgentStatus', 409, async maker => ({ ids: await makeUser(maker, 'invited'), body: { status: 'away' } })),
  special('createSipCredential', 409, async maker => ({ ids: await makeUser(maker, 'invited') })),
  special('updateUser', 409, async maker => {
    const extension = String(1000 + another())
    await maker.ask(`PATCH /v1/users/${(await makeUser(maker)).id}`, { extension })
    return { ids: await makeUser(maker), body: { extension } }
  }),
  special('updateCallback', 409, async maker => {
    const { id } = await maker.ask('POST /v1/callbacks', { phone: `+1415555${1000 + another()}` })
    await maker.ask(`POST /v1/callbacks/${id}/cancel`)
    return { ids: { id }, body: { name: 'Ann' } }
  }),
  special('correctCallSummary', 409, async maker => {
    const { id = '' } = await makeCall(maker)
    const calls = forTenant(maker.world.store.db, maker.tenant).update('calls')
    await calls.set({ node_id: 'another' }).where('id', '=', id).execute()
    return { ids: { id }, body: { reason: 'An invoice.' } }
  }),
  special('writeFlowDraft', 409, async maker => ({
    ids: await named(maker.ask('POST /v1/flows', { name: 'Flow' })),
    body: { base_rev: 2, graph: { nodes: [] } },
  })),
  special('updateConferenceRoom', 409, async maker => ({
    ids: await named(maker.ask('POST /v1/conference_rooms', { name: 'Room' })),
    body: { locked: true },
  })),
  special('updateConferenceParticipant', 409, async maker => {
    const { id = '' } = await named(maker.ask('POST /v1/conference_rooms', { name: 'Room' }))
    const { participant_id = '' } = await makeCall(maker, { roomId: id, ended: true })
    return { ids: { id, participant_id }, body: { muted: true } }
  }),
  special('updateCallParticipant', 409, async maker => {
    const { id = '', participant_id = '' } = await makeCall(maker, { ended: true })
    return { ids: { id, participant_id }, body: { audio: { auto_gain: true } } }
  }),
  special('getWebhookEndpointPublicKey', 409, async maker => ({
    ids: await named(maker.ask('POST /v1/webhook_endpoints', { url: 'https://93.184.216.34/' })),
  })),
]

/** Creates what operations need to succeed, besides the object in their path. */
export async function prepare(maker: Maker): Promise<void> {
  await maker.ask('PATCH /v1/organisation', {
    qa_rubric: [{ key: 'greeting', label: 'Greets', check: { kind: 'phrases', phrases: ['good morning'] } }],
  })
  await maker.ask('PATCH /v1/organisation', { pci: { enabled: true } })
  await makeTrunk(maker)
}
