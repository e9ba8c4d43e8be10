import * as assert from 'uvu/assert'
import { TraceKeeper } from '../../../../control/calls/tracing/trace-keeper.ts'
import { removeCall } from '../../../../control/retention/removal.ts'
import type { Failure, SipLegTrace } from '../../../../media/protocol.ts'
import { willingMedia } from '../../../fakes/media-port.ts'
import { readPcap } from '../../../fakes/pcap.ts'
import { suite } from '../../../harness.ts'
import { ask, START, serve } from '../../app-harness.ts'
import { makeCall, makerOf } from '../../conformance/objects.ts'
import { makeProduct, productRoutes, UNLIMITED } from '../../conformance/product.ts'
import { APP_CONFIG } from '../../whole-app.ts'

const test = suite('control/calls/tracing/trace-routes')

const local = { host: '192.0.2.1', port: 5060 }
const remote = { host: '192.0.2.2', port: 5062 }
const traceOf = (legId: string, ...texts: string[]): SipLegTrace => ({
  legId,
  messages: texts.map((text, i) => ({
    at: START.getTime() + i,
    isSent: i % 2 === 1,
    transport: 'udp',
    local,
    remote,
    text,
  })),
  dropped: 0,
  packets: null,
})
const INVITE =
  'INVITE sip:1@192.0.2.1 SIP/2.0\r\nCall-ID: a\r\nFrom: J\xc3\xb6rg\r\n  <sip:j@x>\r\nContent-Type: application/sdp\r\n\r\nv=0\r\n'
const TRYING = 'SIP/2.0 100 Trying\r\nCall-ID: a\r\n\r\n'

/** A product whose media has these traces, of legs that run and of legs that have ended. */
async function makeTraced() {
  const product = await makeProduct()
  const running = new Map<string, SipLegTrace>()
  const ended: SipLegTrace[] = []
  const sent: string[] = []
  let failure: Failure | null = null
  const willing = willingMedia()
  const media = {
    ...willing,
    request: (async (name: string, body: { legId?: string; done?: string[] }) => {
      sent.push(name)
      if (failure !== null) return failure
      if (name === 'sip.trace_read') return { trace: running.get(body.legId!) ?? null }
      if (name !== 'sip.trace_take') return willing.request(name as never, body as never)
      for (const legId of body.done!)
        ended.splice(
          ended.findIndex(one => one.legId === legId),
          1,
        )
      return { traces: ended.slice(0, 2) }
    }) as never,
  }
  const parts = { media, config: { ...APP_CONFIG, dataDir: product.dataDir } }
  const app = await serve(product, productRoutes(product, parts as never), UNLIMITED)
  return {
    ...{ app, product, running, ended, sent, media, maker: makerOf(product) },
    fails: (how: Failure | null) => (failure = how),
    keeper: new TraceKeeper({ store: product.store }),
    get: (path: string, key = product.ours.keys.live) => ask(app, `GET /v1${path}`, { key }),
    post: (path: string, body: object) => ask(app, `POST /v1${path}`, { key: product.ours.keys.live, body }),
    close: async () => {
      await app.close()
      await product.close()
    },
  }
}

test("a running call's messages are asked of media, newest first, with their parts", async () => {
  const { maker, running, get, close } = await makeTraced()
  const { id, participant_id: legId = '' } = await makeCall(maker)
  running.set(legId, traceOf(legId, INVITE, TRYING))
  const { body } = await get(`/calls/${id}/sip`)
  assert.equal(
    body.data.map((one: { start_line: string }) => one.start_line),
    ['SIP/2.0 100 Trying', 'INVITE sip:1@192.0.2.1 SIP/2.0'],
  )
  const [, { id: messageId, ...invite }] = body.data
  assert.match(messageId, /^sipm_[0-9a-z]{26}$/)
  assert.equal(invite, {
    object: 'sip_message',
    livemode: true,
    call_id: id,
    participant_id: legId,
    at: START.toISOString(),
    direction: 'received',
    transport: 'udp',
    local,
    remote,
    start_line: 'INVITE sip:1@192.0.2.1 SIP/2.0',
    headers: [
      { name: 'Call-ID', value: 'a' },
      { name: 'From', value: 'Jörg <sip:j@x>' },
      { name: 'Content-Type', value: 'application/sdp' },
    ],
    body: 'v=0\r\n',
  })
  const first = await get(`/calls/${id}/sip?limit=1`)
  assert.is(first.body.has_more, true)
  const second = await get(`/calls/${id}/sip?limit=1&starting_after=${first.body.next_cursor}`)
  assert.is(second.body.data[0].id, messageId)
  assert.is(second.body.has_more, false)
  await close()
})

test('what passed for legs that have ended is stored in batches, acknowledged, and answered from there', async () => {
  const { maker, ended, keeper, media, get, sent, product, close } = await makeTraced()
  const calls = []
  for (let i = 0; i < 5; i++) calls.push(await makeCall(maker, { ended: true }))
  ended.push(
    ...calls.map(({ participant_id: legId = '' }) => traceOf(legId, INVITE, TRYING)),
    traceOf('part_nobody', INVITE),
  )
  await keeper.run(media)
  assert.is(ended.length, 0, 'all is acknowledged, that of a leg without a call too')
  assert.is(sent.filter(name => name === 'sip.trace_take').length, 4)
  assert.is((await product.store.db.selectFrom('sip_traces').selectAll().execute()).length, 5)
  product.clock.advance(60_000)
  sent.length = 0
  const { body } = await get(`/calls/${calls[0]!.id}/sip`)
  assert.is(body.data.length, 2)
  assert.equal(sent, [], 'media is not asked')
  await close()
})

test('what is stored already, when the process died before it said so, is stored once', async () => {
  const { maker, ended, keeper, media, product, close } = await makeTraced()
  const { participant_id: legId = '' } = await makeCall(maker, { ended: true })
  for (let i = 0; i < 2; i++) {
    ended.push(traceOf(legId, INVITE))
    await keeper.run(media)
  }
  assert.is((await product.store.db.selectFrom('sip_traces').selectAll().execute()).length, 1)
  await close()
})

test('what is not acknowledged, since media was away, comes again', async () => {
  const { maker, ended, keeper, media, fails, close } = await makeTraced()
  const { participant_id: legId = '' } = await makeCall(maker, { ended: true })
  ended.push(traceOf(legId, INVITE))
  fails({ failure: 'unavailable', message: 'away' })
  await keeper.run(media)
  assert.is(ended.length, 1)
  fails(null)
  await keeper.run(media)
  assert.is(ended.length, 0)
  await close()
})

test('while media cannot be asked for what it alone has: 503; of a leg of another node: 409 that names it', async () => {
  const { maker, fails, get, product, close } = await makeTraced()
  const { id } = await makeCall(maker)
  fails({ failure: 'unavailable', message: 'away' })
  assert.is((await get(`/calls/${id}/sip`)).body.error.code, 'media_unavailable')
  await product.store.db.updateTable('participants').set({ node_id: 'far' }).execute()
  const { status, body } = await get(`/calls/${id}/sip`)
  assert.equal([status, body.error.details], [409, { reason: 'other_node', node: 'far' }])
  await close()
})

test("another organisation's key, and the other mode's, find no call", async () => {
  const { maker, get, product, close } = await makeTraced()
  const { id } = await makeCall(maker)
  for (const key of [product.theirs.keys.live, product.ours.keys.test]) {
    for (const path of ['sip', 'sip.pcap']) assert.is((await get(`/calls/${id}/${path}`, key)).status, 404)
  }
  await close()
})

test('a trace goes with its call', async () => {
  const { maker, ended, keeper, media, product, close } = await makeTraced()
  const { id = '', participant_id: legId = '' } = await makeCall(maker, { ended: true })
  ended.push(traceOf(legId, INVITE))
  await keeper.run(media)
  assert.is(
    await product.store.transaction(trx => removeCall(trx, maker.tenant, id, product.clock.now().toISOString())),
    null,
  )
  assert.is((await product.store.db.selectFrom('sip_traces').selectAll().execute()).length, 0)
  await close()
})

test('the capture file has all of it', async () => {
  const { maker, running, app, product, close } = await makeTraced()
  const { id, participant_id: legId = '' } = await makeCall(maker)
  running.set(legId, traceOf(legId, INVITE, TRYING))
  const headers = { authorization: `Bearer ${product.ours.keys.live}` }
  const answer = await app.inject({ url: `/v1/calls/${id}/sip.pcap`, headers })
  assert.is(answer.headers['content-type'], 'application/vnd.tcpdump.pcap')
  const packets = readPcap(answer.rawPayload)
  assert.equal(
    packets.map(({ payload }) => payload.toString('latin1')),
    [INVITE, TRYING],
  )
  await close()
})

test('RTP headers are asked of all legs that are in the call; 409 when there is none', async () => {
  const { maker, post, sent, close } = await makeTraced()
  const { id } = await makeCall(maker)
  const { status, body } = await post(`/calls/${id}/sip/rtp`, { action: 'start', max_seconds: 30 })
  assert.is(status, 200)
  assert.equal([body.status, body.ends_at], ['running', new Date(START.getTime() + 30_000).toISOString()])
  assert.ok(sent.includes('leg.trace_packets'))
  assert.equal((await post(`/calls/${id}/sip/rtp`, { action: 'stop' })).body.ends_at, null)
  const over = await makeCall(maker, { ended: true })
  const refused = await post(`/calls/${over.id}/sip/rtp`, { action: 'start' })
  assert.equal([refused.status, refused.body.error.message], [409, 'The call has ended.'])
  await close()
})

test.run()
