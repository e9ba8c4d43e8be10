import * as assert from 'uvu/assert'
import { StreamReceiver } from '../../../bench/stream-receiver.ts'
import { type Behaviour, WsReceiver } from '../../fakes/ws-receiver.ts'
import { noise } from '../../fuzz/health.ts'
import { keep, newRoom, type Seated, seat } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { assertGapless } from '../witness.ts'

const test = sharedSuite('e2e/streams/bad-receivers')
const BEHAVIOURS: Behaviour[] = [
  'never reads',
  'resets',
  'refuses',
  'answers 302',
  'hangs in the handshake',
  'sends garbage',
  'breaks the framing',
]

let seated: [Seated, Seated]

test.before(async () => {
  const room = await newRoom(product)
  seated = [
    await seat(product, room, 'bad-a', { voice: noise(1) }),
    await seat(product, room, 'bad-b', { voice: noise(2) }),
  ]
})

test(
  'receivers that never read, reset, answer 302, hang in the handshake or talk nonsense, all at once, harm nobody else',
  async () => {
    const [anna, ben] = seated
    const healthy = keep(await StreamReceiver.listen())
    const { id } = await product.ok('POST', `/calls/${ben.callId}/streams`, { url: healthy.url, tracks: 'both' })
    const bad = await Promise.all(BEHAVIOURS.map(async behaviour => keep(await WsReceiver.listen(behaviour))))
    const marks = seated.map(({ call }) => call.packets.length)
    const streams: { id: string; ofCall: string }[] = []
    // Since a call may have only four tracks, each call's leg has one, and the session has the rest.
    for (const [n, { url }] of bad.entries()) {
      const ofCall = n < 4 ? anna.callId : anna.sessionId
      const stream = await product.ok('POST', `/calls/${ofCall}/streams`, { url, tracks: 'inbound' })
      streams.push({ id: stream.id, ofCall })
    }
    await anna.call.heard.next(6000)
    for (const [n, { call }] of seated.entries()) assertGapless(call.packets.slice(marks[n]), `phone ${n}`)
    const stopped = await product.ok('DELETE', `/calls/${ben.callId}/streams/${id}`)
    assert.is(stopped.frames_dropped, 0, 'the healthy stream lost nothing')
    for (const stream of streams) {
      const answer = await product.api('DELETE', `/calls/${stream.ofCall}/streams/${stream.id}`)
      assert.ok(answer.status < 500, `a bad stream can be stopped: ${answer.status}`)
    }
    for (const { ofCall } of streams) {
      const open = (await product.all(`/calls/${ofCall}/streams`)).filter(({ ended_reason }) => ended_reason === null)
      assert.equal(open, [], 'no stream stays open')
    }
  },
  { timeoutMs: 60_000 },
)

test.run()
