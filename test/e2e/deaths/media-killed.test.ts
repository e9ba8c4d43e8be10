// Wants the machine: it judges how soon a process is back, or how much load is borne, and takes more than a core.
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { StreamReceiver } from '../../../bench/stream-receiver.ts'
import { assertExact, noise, roomWitness } from '../../fuzz/health.ts'
import { suite } from '../../harness.ts'
import { curtain, endedCall, newRoom, type Seated, seat } from '../scene.ts'
import { assertEventsOnce, countEvents, killAndWait } from '../witness.ts'

const test = suite('e2e/deaths/media-killed')
const SLOW = { timeoutMs: 60_000 }
/** "New calls are taken within two seconds." */
const BACK_WITHIN_MS = 2000

let product: Product
let receiver: StreamReceiver

test.before(async () => {
  product = await Product.start()
  await product.ok('PATCH', '/organisation', { pci: { enabled: true } })
  receiver = await StreamReceiver.listen()
})
test.after(async () => {
  await receiver?.close()
  await curtain(product)
})

/** Fills a room: two phones, a recording, a stream, a pause, and a phone that still rings. */
async function fullHouse(name: string) {
  const room = await newRoom(product, {}, { record: true })
  const seated = [await seat(product, room, `${name}-a`), await seat(product, room, `${name}-b`, { voice: noise(1) })]
  const [anna] = seated as [Seated]
  const stream = await product.ok('POST', `/calls/${anna.callId}/streams`, { url: receiver.url })
  await product.until('the stream runs', async () => {
    const { status } = await product.ok('GET', `/calls/${anna.callId}/streams/${stream.id}`)
    return status === 'streaming' ? true : null
  })
  const callee = await Phone.open(`${name}-callee`)
  const dialled = await product.ok('POST', '/calls', { to: callee.uri, room_id: room.roomId })
  await callee.next()
  await product.ok('POST', `/calls/${anna.callId}/pci`, { action: 'pause' })
  await anna.call.heard.next(300)
  return { room, seated, anna, stream, callee, dialled }
}

/** Calls until a call is answered. @returns how long that took [ms] */
async function untilAnswered(since: number): Promise<number> {
  for (;;) {
    const phone = await Phone.open('impatient')
    const call = await phone.dial('1002', product.sip)
    const outcome = await Promise.race([call.outcome, new Promise<null>(later => setTimeout(() => later(null), 400))])
    const tookMs = performance.now() - since
    void phone.close()
    if (outcome?.status === 200) return tookMs
    if (tookMs > 20_000) throw new Error('no call is answered any more')
  }
}

async function assertAllOver({ seated, anna, stream, dialled }: Awaited<ReturnType<typeof fullHouse>>): Promise<void> {
  for (const { callId } of seated) {
    const call = await endedCall(product, callId)
    assert.is(call.status, 'completed')
    assert.is(call.ended_reason, 'media_failed')
  }
  const session = await endedCall(product, anna.sessionId)
  assert.is(session.ended_reason, 'media_failed')
  const rung = await endedCall(product, dialled.id)
  assert.is(rung.status, 'failed')
  assert.is(rung.ended_reason, 'media_failed')
  const { status } = await product.ok('GET', `/calls/${anna.callId}/streams/${stream.id}`)
  assert.ok(status === 'failed' || status === 'stopped', `the stream is ${status}`)
  const participants = await product.all(`/calls/${anna.sessionId}/participants`)
  assert.ok(
    participants.every(({ left_at }: { left_at: string | null }) => left_at !== null),
    'all have left',
  )
  const recording = await product.until('the recording is settled', async () => {
    const found = await product.ok('GET', `/calls/${anna.sessionId}/recording`)
    return found.status === 'recording' ? null : found
  })
  assert.is(recording.status, 'ready', 'what was on the disk is finished')
  const events = await product.events()
  assertEventsOnce(events)
  const counts = countEvents(events)
  for (const id of [...seated.map(({ callId }) => callId), dialled.id]) {
    assert.is(counts.get(id)?.['call.ended'], 1, `${id}: ended once`)
  }
  for (const { participantId } of seated) {
    assert.is(counts.get(participantId)?.['conference.participant.left'], 1, 'left once')
  }
  assert.is(counts.get(anna.sessionId)?.['conference.ended'], 1, 'the session ended once')
  const streamEvents = counts.get(stream.id) ?? {}
  assert.is(
    (streamEvents['call.stream.failed'] ?? 0) + (streamEvents['call.stream.stopped'] ?? 0),
    1,
    'so did the stream',
  )
}

async function assertNothingHalfOpen(): Promise<void> {
  await product.until('no call is left open', async () => {
    const calls = await product.all('/calls')
    return calls.every(({ ended_at }: { ended_at: string | null }) => ended_at !== null) ? true : null
  })
}

for (const killed of [['media'], ['media', 'control'], ['control', 'media']] as ('media' | 'control')[][]) {
  test(
    `${killed.join(' and ')} killed with -9: the calls end as media_failed with all that belongs to them, and new ones are taken`,
    async () => {
      const house = await fullHouse(killed.join('-'))
      const since = performance.now()
      const back = killAndWait(product, ...killed)
      const tookMs = await untilAnswered(since)
      await back
      await product.ready()
      if (killed.length === 1) assert.ok(tookMs < BACK_WITHIN_MS, `a call was answered after ${tookMs.toFixed(0)} ms`)
      await assertAllOver(house)
      await Phone.closeAll()
      await assertNothingHalfOpen()
      const call = await (await roomWitness(product))()
      await assertExact(call, 'the next call')
      await call.hangup()
    },
    SLOW,
  )
}

test.run()
