import * as assert from 'uvu/assert'
import { memberNamed } from '../../../bench/members.ts'
import { keysIn } from '../../../bench/phone/keypad.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { Product } from '../../../bench/product.ts'
import { audioOf, type ReceivedStream, StreamReceiver } from '../../../bench/stream-receiver.ts'
import { readWav } from '../../../codecs/wav.ts'
import { HepCollector } from '../../fakes/hep-collector.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'
import { Bot } from '../bot.ts'
import { callFrom, curtain, newRoom, type Seated, seat, type TestRoom } from '../scene.ts'
import { leaksIn, leaksInFiles, rowsOf } from './leaks.ts'

/** Keys pressed as events, tones, INFO and in a browser: sequences that occur nowhere by chance, without ones. */
const CARD = '4929836543207986'
const TONES = '8642097538'
const INFO = '735962'
const PAGE = '908273'
const SECRETS = [CARD, TONES, INFO, PAGE]
/** Keys pressed after the pause, for whatever has waited for keys meanwhile. */
const AFTERWARDS = '1111'
/** Longer than what is still taken for a key of the pause [ms]. */
const CALM_MS = 2500
const SLOW = { timeoutMs: 60_000 }

const test = suite('e2e/payments/pause-digits')

const to = (next: string, condition: object = { kind: 'always' }) => ({ condition, next })
const dtmf = (digits: string) => ({ kind: 'dtmf', digits })
/** A flow with one question, whose answer is stored and reported. */
const asking = (node: object) => ({
  kind: 'ivr',
  variables: [{ name: 'heard' }],
  nodes: [
    { key: 'start', type: 'start', transitions: [to('ask')] },
    { key: 'ask', script: 'Please.', ...node },
    { key: 'end', type: 'end' },
  ],
})
const input = { modes: ['dtmf'], timeout_ms: 60_000 }
const FLOWS = {
  plain: asking({ type: 'collect', save_as: 'heard', input, transitions: [to('end')] }),
  sensitive: asking({
    type: 'collect',
    save_as: 'heard',
    input: { ...input, sensitive: true },
    transitions: [to('end')],
  }),
  menu: asking({
    type: 'menu',
    input,
    transitions: [...[...'4986'].map(key => to('end', dtmf(key))), to('end', dtmf('1')), to('end', { kind: 'else' })],
  }),
}

interface Payer {
  name: string
  call: PhoneCall
  callId: string
  stream: ReceivedStream
  types: (call: PhoneCall) => Promise<unknown>
}

let product: Product
let webhooks: WebhookReceiver
let collector: HepCollector
let streams: StreamReceiver
let room: TestRoom
let bot: Bot
let agent: Seated
let terminal: PhoneCall
const payers: Payer[] = []
const recorded: string[] = []
let paidBy: { payer: Payer; line: PhoneCall }

/** Where in each party's audio the pause begins [samples]. */
const from: number[] = []
let botFrom = 0
let agentFrom = 0
/** When the pause was over, monotonic [ms]. */
let resumedAt = 0

const typeEvents = async (call: PhoneCall): Promise<void> => {
  await call.press(CARD, { as: 'rfc4733', gapMs: 60 })
  await call.press(INFO, { as: 'info' })
}
const typeTones = (call: PhoneCall): Promise<void> => call.press(TONES, { as: 'inband', toneMs: 80 })

async function streamOf(callId: string): Promise<ReceivedStream> {
  const { id } = await product.ok('POST', `/calls/${callId}/streams`, { url: streams.url, tracks: 'both' })
  return streams.stream(id)
}

/** Adds a caller who presses keys, and streams the call. */
async function payer(name: string, call: PhoneCall, callId: string, types = typeEvents): Promise<Payer> {
  const one: Payer = { name, call, callId, stream: await streamOf(callId), types }
  payers.push(one)
  return one
}

/** Calls to the routes to flows and queues are recorded. */
async function dialIn(name: string, number: string, telephoneEvent = true): Promise<Payer> {
  const phone = await Phone.open(name)
  const call = await phone.call(number, product.sip, telephoneEvent ? {} : { telephoneEvent: false })
  const { id } = await callFrom(product, name)
  return payer(name, call, id, telephoneEvent ? typeEvents : typeTones)
}

const KEPT = { record: true, recording_announcement: '' }

async function flowOf(graph: object): Promise<string> {
  const { id } = await product.ok('POST', '/flows', { name: 'Asks', kind: 'ivr', graph })
  await product.ok('POST', `/flows/${id}/publish`, {})
  return id
}

async function calledOut(name: string, flowId: string): Promise<Payer> {
  const phone = await Phone.open(name)
  const ringing = phone.next()
  const { id } = await product.ok('POST', '/calls', { to: phone.uri, flow_id: flowId, record: true })
  const call = await ringing
  call.answer()
  recorded.push(id)
  return payer(name, call, id)
}

/** Adds a caller who is asked for consent to the recording in the middle of the call, by whatever leads it then. */
async function askedToAgree(): Promise<void> {
  const phone = await Phone.open('agrees')
  const ringing = phone.next()
  const { id } = await product.ok('POST', '/calls', { to: phone.uri })
  const call = await ringing
  call.answer()
  await product.until('it is answered', async () => {
    return (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null
  })
  await payer('agrees', call, id)
  const consent = { key: '9', timeout_s: 60 }
  const queue = await product.ok('POST', '/queues', { name: 'Asks', record: true, recording_consent: consent })
  await product.ok('POST', `/calls/${id}/transfer`, { queue_id: queue.id })
}

/** Sets up everything that may wait for keys, each with a caller who presses some. */
async function consumers(): Promise<void> {
  for (const [index, [name, graph]] of Object.entries(FLOWS).entries()) {
    const id = await flowOf(graph)
    const target = { type: 'flow', id }
    await product.ok('POST', '/inbound_routes', { match: { to: `510${index}` }, target, ...KEPT })
    if (name !== 'menu') await calledOut(name, id)
    else recorded.push((await dialIn(name, `510${index}`)).callId)
    recorded.push((await dialIn(`${name}-tones`, `510${index}`, false)).callId)
  }
  const withPin = await newRoom(product, { pin: '31415' })
  await dialIn('pin', withPin.number)
  await dialIn('pin-tones', withPin.number, false)
  const { id: queueId } = await product.ok('POST', '/queues', {
    name: 'Waits',
    wait_keys: { callback: '4', voicemail: '9' },
  })
  await product.ok('POST', '/inbound_routes', {
    match: { to: '5200' },
    target: { type: 'queue', id: queueId },
    ...KEPT,
  })
  recorded.push((await dialIn('queue', '5200')).callId)
  await askedToAgree()
}

/** A conference: two phones and a browser that press keys, one phone that only listens, and the payment line. */
async function conference(): Promise<void> {
  room = await newRoom(product, {}, { record: true })
  for (const [name, options] of [
    ['member', {}],
    ['member-tones', { telephoneEvent: false }],
  ] as const) {
    const { call, callId, sessionId } = await seat(product, room, name, options)
    if (!recorded.includes(sessionId)) recorded.push(sessionId)
    await payer(name, call, callId, name === 'member' ? typeEvents : typeTones)
  }
  agent = await seat(product, room, 'agent')
  const phone = await Phone.open('terminal')
  const ringing = phone.next()
  await product.ok('POST', `/conference_rooms/${room.roomId}/participants`, { to: phone.uri })
  terminal = await ringing
  terminal.answer()
  await memberNamed(product, room.roomId, 'terminal')
  const { join_url: link } = await product.ok('POST', `/conference_rooms/${room.roomId}/links`)
  const answer = await fetch(link, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Botty' }),
  })
  const ticket = (await answer.json()) as { ws_url: string; client_token: string }
  bot = await Bot.connect(ticket.ws_url, ticket.client_token)
  await bot.until(message => message.event === 'start')
}

/** A flow whose node puts the caller through to the payment line. */
async function payment(): Promise<void> {
  const line = await Phone.open('bank')
  const [host = '', port = ''] = line.uri.replace(/^sip:[^@]*@/, '').split(':')
  const trunk = await product.ok('POST', '/connections', { name: 'Bank', kind: 'trunk', host, port: Number(port) })
  const number = { number: '+14155550142', connection_id: trunk.id, payment_line: true }
  await product.ok('POST', '/phone_numbers', number)
  const pay = { key: 'ask', type: 'payment', payment: { amount: '12.50', currency: 'EUR' }, transitions: [to('end')] }
  const ringing = line.next()
  const one = await calledOut('flow-payer', await flowOf(asking(pay)))
  const atLine = await ringing
  atLine.answer()
  await product.until('the flow has paused', async () => {
    const events = await product.all(`/calls/${one.callId}/events`)
    return events.some(({ type }) => type === 'call.pci.paused') ? true : null
  })
  payers.splice(payers.indexOf(one), 1)
  paidBy = { payer: one, line: atLine }
}

/** The calls that each have a pause of their own, with only one of the conference. */
const paused = (): string[] => payers.filter(({ name }) => name !== 'member-tones').map(({ callId }) => callId)

async function pci(action: 'pause' | 'resume'): Promise<void> {
  const lineId = (await memberNamed(product, room.roomId, 'terminal')).id
  await Promise.all(
    paused().map(callId => {
      const isMember = payers.find(one => one.callId === callId)?.name === 'member'
      const line = isMember && action === 'pause' ? { destination_participant_id: lineId } : {}
      return product.ok('POST', `/calls/${callId}/pci`, { action, ...line })
    }),
  )
}

test.before(async () => {
  collector = await HepCollector.listen()
  product = await Product.start({ env: { TANDEM_LOG_LEVEL: 'trace', TANDEM_HEP_URL: collector.url } })
  webhooks = await new WebhookReceiver().listen()
  streams = await StreamReceiver.listen()
  await product.ok('POST', '/webhook_endpoints', { url: webhooks.url })
  await product.ok('PATCH', '/organisation', { pci: { enabled: true, mask_dtmf: true } })
  await consumers()
  await conference()
  await payment()
})
test.after(async () => {
  await streams?.close()
  await webhooks?.close()
  collector?.close()
  await curtain(product)
})

test(
  'whoever waits for keys waits through the pause, while card numbers are typed everywhere at once',
  async () => {
    await pci('pause')
    for (const { callId } of payers) await product.ok('POST', `/calls/${callId}/sip/rtp`, { action: 'start' })
    from.push(...payers.map(({ call }) => call.heard.length))
    botFrom = bot.heard.length
    agentFrom = agent.call.heard.length
    const typing = [...payers, paidBy.payer].map(({ call, types }) => types(call))
    for (const digit of PAGE) bot.send({ event: 'dtmf', dtmf: { digit } })
    await Promise.all(typing)
    // A key that comes only after the pause, as an INFO that is sent again, goes to nobody.
    await product.until('the payment line has all keys', async () =>
      terminal.keysHeard.length >= (CARD + INFO + PAGE).length ? true : null,
    )
    await terminal.heard.next(500)
    // The last key of each caller is still pressed when the pause ends.
    const held = payers.map(({ call, types }) =>
      types === typeTones
        ? call.press('7', { as: 'inband', toneMs: 500 })
        : call.press('7', { as: 'rfc4733', toneMs: 500 }),
    )
    await agent.call.heard.next(200)
    await pci('resume')
    resumedAt = performance.now()
    await Promise.all(held)
    await agent.call.heard.next(CALM_MS)
    for (const { name, callId } of payers) {
      assert.is((await product.ok('GET', `/calls/${callId}`)).ended_at, null, `${name} still waits`)
    }
  },
  SLOW,
)

test('no key of the pause was an answer to the question whether the call may be recorded', async () => {
  const { callId } = payers.find(({ name }) => name === 'agrees')!
  assert.is((await product.api('GET', `/calls/${callId}/recording`)).status, 404)
  const asked = await product.api('POST', `/calls/${callId}/recording/start`)
  assert.is(asked.body.error.details.reason, 'being_asked', 'it is still asked')
})

test('no leg heard a key of the pause but the payment lines', async () => {
  for (const [index, { name, call }] of payers.entries()) {
    assert.is(call.keysHeard, '', name)
    assert.is(keysIn(call.heard.samples(from[index])), '', name)
  }
  assert.is(agent.call.keysHeard, '')
  assert.is(keysIn(agent.call.heard.samples(agentFrom)), '')
  assert.is(keysIn(Int16Array.from(bot.heard.slice(botFrom).flatMap(frame => [...frame]))), '')
  assert.not.ok(bot.messages.some(({ event }) => event === 'dtmf'))
  assert.not.match(paidBy.payer.call.keysHeard, /./)
})

test('the payment lines got all that came as keys', () => {
  assert.ok(paidBy.line.keysHeard.startsWith(CARD), paidBy.line.keysHeard)
  // The keys of two callers who press at once are interleaved.
  for (const key of new Set(CARD + INFO + PAGE)) assert.match(terminal.keysHeard, key)
  assert.ok(terminal.keysHeard.length >= (CARD + INFO + PAGE).length)
})

test(
  'who waited gets what is typed afterwards, and nothing else',
  async () => {
    const plain = payers.find(({ name }) => name === 'plain')!
    // Its timestamps tell when a key was pressed: after the pause, also where they lag behind the clock.
    while (performance.now() - resumedAt < plain.call.audio.unsentMs + CALM_MS) await plain.call.heard.next(100)
    await plain.call.press(`${AFTERWARDS}#`, { as: 'rfc4733' })
    const run = await product.until('the question is answered', async () => {
      const found = await product.ok('GET', `/calls/${plain.callId}/flow_run`)
      return found.status === 'ended' ? found : null
    })
    assert.is(run.variables.heard, AFTERWARDS)
  },
  SLOW,
)

test('no stream carried a key', () => {
  for (const { name, stream } of payers) {
    assert.not.match(stream.keys, /[02-9]/, name)
    for (const track of ['inbound', 'outbound'] as const) {
      assert.not.match(keysIn(audioOf(stream, stream.tracks[track])), /[02-9]/, `${name} ${track}`)
    }
  }
})

test('the search for keys finds four in a row wherever text holds them', () => {
  const four = CARD.slice(4, 8)
  for (const text of [
    `{"heard":"${four}"}`,
    `{\\"heard\\":${four},\\"at_ms\\":${four}}`,
    `the card is ${four}`,
    `Subject: x${four}y`,
    `call_01m8d32fv9cxw350bftt09401h${four}`,
    `tandem_keys_total{key="${four}"} 7`,
  ]) {
    assert.is(leaksIn(text, SECRETS).length, 1, text)
  }
  assert.equal(leaksIn(`tandem_keys_total ${four}\nm=audio ${four}0 RTP/AVP 0`, SECRETS), [])
})

test(
  "no key of a pause is recoverable from a call's SIP messages, its capture file, or what a collector is told, whole or in parts of four",
  async () => {
    let keys = 0
    for (const { name, callId } of [...payers, paidBy.payer]) {
      const capture = (await product.download(`/calls/${callId}/sip.pcap`)).toString('latin1')
      const shown = JSON.stringify((await product.ok('GET', `/calls/${callId}/sip?limit=100`)).data)
      assert.match(shown, 'INVITE sip:')
      assert.match(capture, 'INVITE sip:')
      assert.equal(leaksIn(capture, SECRETS), [], `the capture of ${name}`)
      assert.equal(leaksIn(shown, SECRETS), [], `the messages of ${name}`)
      keys += shown.split('Signal=*').length - 1
    }
    assert.ok(keys >= INFO.length, 'the INFOs are there')
    assert.ok(collector.packets.some(({ payload }) => payload.includes('Signal=*')))
    for (const packet of collector.raw) assert.equal(leaksIn(packet.toString('latin1'), SECRETS), [])
  },
  SLOW,
)

test(
  'no key of a pause is recoverable from events, webhooks, answers, metrics, logs, rows or files, whole or in parts of four',
  async () => {
    await Phone.closeAll()
    await bot.close()
    await product.until('recordings are written', async () => {
      const all = await Promise.all(recorded.map(id => product.api('GET', `/calls/${id}/recording`)))
      return all.every(({ body }) => body.status !== 'recording') ? true : null
    })
    const events = await product.events()
    await product.until('webhooks have come', async () => (webhooks.received.length > events.length / 2 ? true : null))
    const ofCalls = await Promise.all(
      [...payers, paidBy.payer].flatMap(({ callId }) =>
        ['', '/events?limit=100', '/turns', '/flow_run', '/pci', '/transcript'].map(async path => {
          const { body } = await product.api('GET', `/calls/${callId}${path}`)
          return JSON.stringify(body)
        }),
      ),
    )
    const metrics = await (await fetch(`${product.baseUrl}/metrics`)).text()
    const texts: [name: string, text: string][] = [
      ['events', JSON.stringify(events)],
      ['webhooks', webhooks.received.map(({ body }) => body).join('\n')],
      ['answers', ofCalls.join('\n')],
      ['metrics', metrics],
      ['output', product.output],
      ...rowsOf(product),
    ]
    assert.ok(events.filter(({ type, data }) => type === 'call.dtmf' && data.object.masked).length > CARD.length)
    for (const [name, text] of texts) assert.equal(leaksIn(text, SECRETS), [], name)
    assert.equal(leaksInFiles(product, SECRETS), [])
    for (const id of recorded) {
      const wav = readWav(await product.download(`/calls/${id}/recording/content`))
      if ('error' in wav) throw new Error(wav.error)
      for (const channel of wav.samples) assert.not.match(keysIn(channel), /[02-9]/, `the recording of ${id}`)
    }
  },
  SLOW,
)

test.run()
