import * as assert from 'uvu/assert'
import { keysIn } from '../../../bench/phone/keypad.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { Product } from '../../../bench/product.ts'
import { audioOf, type ReceivedStream, StreamReceiver } from '../../../bench/stream-receiver.ts'
import { samplesOf } from '../../../bench/voices.ts'
import { readWav } from '../../../codecs/wav.ts'
import { ChatProvider } from '../../fakes/chat-provider.ts'
import { SpeechProvider } from '../../fakes/speech-provider.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { callFrom, curtain, invited, recorded } from '../scene.ts'
import { leaksIn, leaksInFiles, rowsOf } from './leaks.ts'

/** Keys pressed as events, tones and INFO, by the receiver of a stream, by the API and by a model; without ones. */
const CARD = '4929836543207986'
const TONES = '8642097538'
const INFO = '735962'
const RECEIVER = '908273'
const API = '520864'
/** Keys pressed by a model that was asked before the pause and answers during it. */
const MODEL = '639407'
const TYPED = [CARD, TONES, INFO, RECEIVER, API]
const SECRETS = [...TYPED, MODEL]
/** Longer than what is still taken for a key of the pause [ms]. */
const CALM_MS = 2500
const SLOW = { timeoutMs: 90_000 }
/** The provider's voice, which is quiet and contains no key. */
const VOICE = { hz: 300, rate: 24_000, seconds: 0.3 }

const test = suite('e2e/payments/pause-others')

interface Payer {
  name: string
  call: PhoneCall
  callId: string
  stream: ReceivedStream
  types: (call: PhoneCall) => Promise<unknown>
}

let product: Product
let webhooks: WebhookReceiver
let streams: StreamReceiver
let chat: ChatProvider
let speech: SpeechProvider
let agent: PhoneCall
let campaignId: string
let sessionId: string
const payers: Payer[] = []
const from: number[] = []
let agentFrom = 0
let asked = 0
let heardBefore = 0
/** Lets the model answer everybody who waits for it. */
let answers = (): void => {}
let isAsked: Promise<void>

const typeEvents = async (call: PhoneCall): Promise<void> => {
  await call.press(CARD, { as: 'rfc4733', gapMs: 60 })
  await call.press(INFO, { as: 'info' })
}
const typeTones = (call: PhoneCall): Promise<void> => call.press(TONES, { as: 'inband', toneMs: 80 })

async function payer(name: string, call: PhoneCall, callId: string, types = typeEvents): Promise<void> {
  const request = {
    url: streams.url,
    tracks: 'both',
    ...(name === 'talker' && { mode: 'bidirectional', tracks: 'inbound' }),
  }
  const { id } = await product.ok('POST', `/calls/${callId}/streams`, request)
  payers.push({ name, call, callId, stream: await streams.stream(id), types })
}

async function dialIn(name: string, number: string, telephoneEvent = true): Promise<void> {
  const phone = await Phone.open(name)
  const call = await phone.call(number, product.sip, telephoneEvent ? {} : { telephoneEvent: false })
  const { id } = await callFrom(product, name)
  await payer(name, call, id, telephoneEvent ? typeEvents : typeTones)
}

const KEPT = { record: true, recording_announcement: '', transcribe: true }

/** Callers of an assistant that transcribes, asks a model, and may press keys itself. */
async function assistant(): Promise<void> {
  const tool = await product.ok('POST', '/tools', { kind: 'press_keys', name: 'press_keys' })
  const settings = { name: 'Desk', greeting: 'Hello.', tool_ids: [tool.id] }
  const { id } = await product.ok('POST', '/assistants', settings)
  await product.ok('POST', '/inbound_routes', { match: { to: '5300' }, target: { type: 'assistant', id }, ...KEPT })
  await dialIn('talker', '5300')
  await dialIn('talker-tones', '5300', false)
}

/** A caller of a queue, and an agent whose desktop a copilot fills. */
async function copilot(): Promise<void> {
  const fields = [{ key: 'card', label: 'Card number', type: 'number' }]
  const { id: profileId } = await product.ok('POST', '/copilot_profiles', { name: 'Sales', fields })
  const { userId, account } = await invited(product, 'agent@example.com')
  const desk = await Phone.open('desk')
  await desk.register(account, product.sip)
  await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
  const queue = { name: 'Sales', member_user_ids: [userId], copilot_profile_id: profileId }
  const { id } = await product.ok('POST', '/queues', queue)
  await product.ok('POST', '/inbound_routes', { match: { to: '5301' }, target: { type: 'queue', id }, ...KEPT })
  const ringing = desk.next()
  const dialled = dialIn('customer', '5301')
  agent = await ringing
  agent.answer()
  await dialled
  const callId = payers.find(({ name }) => name === 'customer')!.callId
  const session = await product.until('the copilot begins', async () => {
    return (await product.ok('GET', `/copilot_sessions?call_id=${callId}`)).data[0]
  })
  sessionId = session.id
}

/** A contact of a campaign, who is asked for keys. */
async function campaign(): Promise<void> {
  const to = (next: string) => ({ condition: { kind: 'always' }, next })
  const graph = {
    kind: 'ivr',
    variables: [{ name: 'heard' }],
    nodes: [
      { key: 'start', type: 'start', transitions: [to('ask')] },
      {
        ...{ key: 'ask', type: 'collect', script: 'Please.', save_as: 'heard' },
        ...{ input: { modes: ['dtmf'], timeout_ms: 60_000 }, transitions: [to('end')] },
      },
      { key: 'end', type: 'end' },
    ],
  }
  const { id: flowId } = await product.ok('POST', '/flows', { name: 'Asks', kind: 'ivr', graph })
  await product.ok('POST', `/flows/${flowId}/publish`, {})
  const phone = await Phone.open('contact')
  await product.ok('POST', '/connections', { name: 'Trunk', kind: 'trunk', host: phone.host, port: phone.port })
  const settings = { name: 'Asks', flow_id: flowId, allowed_hours: null, max_concurrent: 1 }
  campaignId = (await product.ok('POST', '/campaigns', settings)).id
  await product.ok('POST', `/campaigns/${campaignId}/contacts`, { contacts: [{ phone: '+14155550111' }] })
  const ringing = phone.next()
  await product.ok('POST', `/campaigns/${campaignId}/start`, {})
  const call = await ringing
  call.answer()
  const { call_id: callId } = await product.until('the attempt has a call', async () => {
    const [attempt] = await product.all(`/campaigns/${campaignId}/attempts`)
    return attempt?.call_id ? attempt : null
  })
  await product.until('the flow asks', async () => {
    return (await product.ok('GET', `/calls/${callId}`)).status === 'in_progress' ? true : null
  })
  await product.ok('POST', `/calls/${callId}/recording/start`)
  await payer('contact', call, callId)
}

const pci = (action: 'pause' | 'resume'): Promise<unknown> =>
  Promise.all(payers.map(({ callId }) => product.ok('POST', `/calls/${callId}/pci`, { action })))

test.before(async () => {
  const begun = new Promise<void>(resolve => (answers = resolve))
  let tellAsked = (): void => {}
  isAsked = new Promise(resolve => (tellAsked = resolve))
  chat = await ChatProvider.listen(async ({ messages }) => {
    if (messages.at(-1)?.role === 'tool') return { text: 'Well.' }
    tellAsked()
    await begun
    return { tool: 'press_keys', input: { keys: MODEL } }
  })
  speech = await SpeechProvider.start()
  const samples = Int16Array.from({ length: VOICE.rate * VOICE.seconds }, (_, i) =>
    Math.round(600 * Math.sin((2 * Math.PI * VOICE.hz * i) / VOICE.rate)),
  )
  speech.audio = Buffer.from(samples.buffer)
  const provider = `http://127.0.0.1:${speech.port}/v1`
  product = await Product.start({
    env: {
      ...{ TANDEM_LOG_LEVEL: 'trace', TANDEM_MODEL_URL: chat.url, TANDEM_MODEL_KEY: 'key' },
      ...{ TANDEM_TTS_URL: provider, TANDEM_TTS_KEY: 'key', TANDEM_STT_URL: provider, TANDEM_STT_KEY: 'key' },
    },
  })
  webhooks = await new WebhookReceiver().listen()
  streams = await StreamReceiver.listen()
  await product.ok('POST', '/webhook_endpoints', { url: webhooks.url })
  await product.ok('PATCH', '/organisation', { pci: { enabled: true, mask_dtmf: true } })
  await assistant()
  await copilot()
  await campaign()
})
test.after(async () => {
  await streams?.close()
  await webhooks?.close()
  await chat?.close()
  await speech?.stop()
  await curtain(product)
})

test(
  'card numbers are typed at an assistant, an agent and the flow of a campaign, and keys are pressed by a receiver, the API and a model',
  async () => {
    const talker = payers.find(({ name }) => name === 'talker')!
    speech.texts.push('Please enter my number.')
    talker.call.say(samplesOf(recorded('wait-moderator')))
    await isAsked
    await pci('pause')
    asked = chat.asked.length
    answers()
    await product.until('the model has pressed its keys', async () => (chat.asked.length > asked ? true : null))
    heardBefore = speech.requests.length
    from.push(...payers.map(({ call }) => call.heard.length))
    agentFrom = agent.heard.length
    const typing = payers.map(({ call, types }) => types(call))
    for (const digit of RECEIVER) streams.say(talker.stream.streamId, { event: 'dtmf', dtmf: { digit } })
    const key = { headers: { 'idempotency-key': 'keys of a pause' } }
    const pressed = await product.api('POST', `/calls/${talker.callId}/dtmf`, { digits: API }, key)
    assert.is(pressed.status, 200)
    await Promise.all(typing)
    const held = payers.map(({ call, types }) =>
      call.press('7', { as: types === typeTones ? 'inband' : 'rfc4733', toneMs: 500 }),
    )
    await agent.heard.next(200)
    await pci('resume')
    await Promise.all(held)
    await agent.heard.next(CALM_MS)
    for (const { name, callId } of payers) {
      assert.is((await product.ok('GET', `/calls/${callId}`)).ended_at, null, `${name} goes on`)
    }
  },
  SLOW,
)

test('nobody heard a key of the pause but the party at whom a receiver, the API and the model pressed theirs', () => {
  for (const [index, { name, call }] of payers.entries()) {
    if (name === 'talker') assert.equal([...call.keysHeard].sort(), [...RECEIVER, ...API, ...MODEL].sort())
    else assert.is(call.keysHeard, '', name)
    assert.is(keysIn(call.heard.samples(from[index])), '', name)
  }
  assert.is(agent.keysHeard, '')
  assert.is(keysIn(agent.heard.samples(agentFrom)), '')
})

test('no stream carried a key, and neither the recogniser nor the model was given one', () => {
  for (const { name, stream } of payers) {
    assert.is(stream.keys, '', name)
    for (const track of ['inbound', 'outbound'] as const) {
      assert.is(keysIn(audioOf(stream, stream.tracks[track])), '', `${name} ${track}`)
    }
  }
  for (const { path, body } of speech.requests.slice(heardBefore)) {
    const at = body.indexOf('RIFF')
    const wav = path.endsWith('transcriptions') && at >= 0 ? readWav(body.subarray(at)) : null
    if (wav === null || 'error' in wav) continue
    const step = wav.sampleRateHz / 8000
    for (const channel of wav.samples) {
      assert.is(keysIn(Int16Array.from({ length: channel.length / step }, (_, i) => channel[i * step]!)), '')
    }
  }
  assert.is(chat.asked.length, asked + 1, 'the model is not asked because of keys, but told of its own')
  assert.equal(leaksIn(JSON.stringify(chat.asked), TYPED), [])
})

test(
  "none is recoverable from events, webhooks, answers, the agent's desktop, the campaign, metrics, logs, rows, files or recordings, whole or in parts of four",
  async () => {
    const ids = payers.map(({ callId }) => callId)
    await Phone.closeAll()
    await product.until('recordings are written', async () => {
      const all = await Promise.all(ids.map(id => product.api('GET', `/calls/${id}/recording`)))
      return all.every(({ body }) => body.status !== 'recording') ? true : null
    })
    await product.until('the attempt is over', async () => {
      const [attempt] = await product.all(`/campaigns/${campaignId}/attempts`)
      return attempt?.result ? true : null
    })
    const events = await product.events()
    await product.until('webhooks have come', async () => (webhooks.received.length > events.length / 2 ? true : null))
    const paths = [
      ...ids.flatMap(id =>
        ['', '/events?limit=100', '/turns', '/flow_run', '/pci', '/transcript', '/summary'].map(
          path => `/calls/${id}${path}`,
        ),
      ),
      ...['attempts', 'contacts', 'results', 'stats'].map(what => `/campaigns/${campaignId}/${what}`),
      ...['', '/messages?limit=100'].map(path => `/copilot_sessions/${sessionId}${path}`),
    ]
    const answers = await Promise.all(paths.map(async path => JSON.stringify((await product.api('GET', path)).body)))
    const metrics = await (await fetch(`${product.baseUrl}/metrics`)).text()
    const texts: [name: string, text: string][] = [
      ['events', JSON.stringify(events)],
      ['webhooks', webhooks.received.map(({ body }) => body).join('\n')],
      ...paths.map((path, at): [string, string] => [path, answers[at]!]),
      ['metrics', metrics],
      ['output', product.output],
      ...rowsOf(product),
    ]
    assert.ok(events.filter(({ type, data }) => type === 'call.dtmf' && data.object.masked).length > CARD.length)
    for (const [name, text] of texts) assert.equal(leaksIn(text, SECRETS), [], name)
    assert.equal(leaksInFiles(product, SECRETS), [])
    for (const { name, callId } of payers) {
      const wav = readWav(await product.download(`/calls/${callId}/recording/content`))
      if ('error' in wav) throw new Error(wav.error)
      for (const channel of wav.samples) assert.is(keysIn(channel), '', `the recording of ${name}`)
    }
  },
  SLOW,
)

test.run()
