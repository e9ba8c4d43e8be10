// Takes a core: it starts a product with two engine threads, and kills its control process.
import * as assert from 'uvu/assert'
import { keysIn } from '../../../bench/phone/keypad.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { audioOf, StreamReceiver } from '../../../bench/stream-receiver.ts'
import { readWav } from '../../../codecs/wav.ts'
import { HepCollector } from '../../fakes/hep-collector.ts'
import { suite } from '../../harness.ts'
import { curtain, newRoom, seat } from '../scene.ts'
import { leaksIn, leaksInFiles, rowsOf } from './leaks.ts'

/** What is pressed while the pause is on, by what happens to the call then. */
const KEYS = {
  killed: '49298365',
  held: '4320798',
  transferred: '8642097538',
  tones: '7359',
  callee: '90827366',
  taken: '52086491',
}
const SECRETS = Object.values(KEYS)

const test = suite('e2e/payments/pause-changes')
let product: Product
let collector: HepCollector

test.before(async () => {
  collector = await HepCollector.listen()
  const env = { TANDEM_LOG_LEVEL: 'trace', TANDEM_HEP_URL: collector.url, TANDEM_ENGINE_THREADS: '2' }
  product = await Product.start({ env })
  await product.ok('PATCH', '/organisation', { pci: { enabled: true, mask_dtmf: true } })
})
test.after(async () => {
  collector?.close()
  await curtain(product)
})

test(
  'no key of a pause is recoverable where the call is held, resumed and transferred in it, and control dies and returns',
  async () => {
    const receiver = await StreamReceiver.listen()
    const room = await newRoom(product, {}, { record: true })
    const other = await seat(product, room, 'other')
    const phone = await Phone.open('payer')
    const ringing = phone.next()
    const { id } = await product.ok('POST', '/calls', { to: phone.uri, record: true })
    const path = `/calls/${id}`
    const payer = await ringing
    payer.answer()
    await product.until('it is answered', async () => (await product.ok('GET', path)).status === 'in_progress' || null)
    await product.ok('POST', `${path}/streams`, { url: receiver.url, tracks: 'both' })
    const stream = await receiver.until(() => receiver.streams[0])
    await payer.press('1', { as: 'rfc4733' })
    await product.until('the measurement is awake', async () => stream.keys === '1' || null)
    await product.ok('POST', `${path}/pci`, { action: 'pause', max_seconds: 120 })

    process.kill(product.pids.control, 'SIGKILL')
    await payer.press(KEYS.killed, { as: 'rfc4733', gapMs: 60 })
    await payer.press(KEYS.tones, { as: 'inband', toneMs: 80 })
    await product.ready()
    await product.ok('POST', `${path}/hold`)
    // Its phone sends no audio meanwhile.
    await payer.press(KEYS.held, { as: 'info' })
    await product.ok('POST', `${path}/unhold`)
    assert.is((await product.api('POST', `${path}/pci`, { action: 'pause' })).status, 409, 'it is on')
    await product.ok('POST', `${path}/transfer`, { room_id: room.roomId })
    await payer.heard.next(500)
    assert.is((await product.api('POST', `${path}/pci`, { action: 'pause' })).status, 409, 'it is on')
    await payer.press(KEYS.transferred, { as: 'rfc4733', gapMs: 60 })
    await payer.press(KEYS.tones, { as: 'inband', toneMs: 80 })
    await other.call.press(KEYS.callee, { as: 'rfc4733', gapMs: 60 })
    await payer.heard.next(500)
    await product.ok('POST', `${path}/pci`, { action: 'resume' })
    await payer.heard.next(2500)
    await payer.press('1', { as: 'rfc4733' })
    await product.until('keys are keys again', async () => stream.keys === '11' || null)

    assert.is(other.call.keysHeard, '')
    assert.not.match(keysIn(other.call.heard.samples()), /[02-9]/)
    for (const track of ['inbound', 'outbound'] as const) {
      assert.not.match(keysIn(audioOf(stream, stream.tracks[track])), /[02-9]/)
    }
    const asked = ['', '/events?limit=100', '/sip?limit=100', '/quality']
    const answers = await Promise.all(asked.map(async more => (await product.api('GET', `${path}${more}`)).body))
    const capture = (await product.download(`${path}/sip.pcap`)).toString('latin1')
    await Phone.closeAll()
    for (const sessionId of [id, other.sessionId]) {
      await product.until('the recording is ready', async () => {
        return (await product.ok('GET', `/calls/${sessionId}/recording`)).status === 'ready' || null
      })
      const wav = readWav(await product.download(`/calls/${sessionId}/recording/content`))
      if ('error' in wav) throw new Error(wav.error)
      for (const channel of wav.samples) assert.not.match(keysIn(channel), /[02-9]/)
    }
    const events = await product.events()
    assert.ok(events.filter(({ type, data }) => type === 'call.dtmf' && data.object.masked).length > 20)
    const metrics = await (await fetch(`${product.baseUrl}/metrics`)).text()
    const texts: [string, string][] = [
      ['answers', JSON.stringify(answers)],
      ['capture', capture],
      ['events', JSON.stringify(events)],
      ['metrics', metrics],
      ['output', product.output],
      ['collector', collector.raw.map(packet => packet.toString('latin1')).join('\n')],
      ...rowsOf(product),
    ]
    for (const [name, text] of texts) assert.equal(leaksIn(text, SECRETS), [], name)
    assert.equal(leaksInFiles(product, SECRETS), [])
    await receiver.close()
  },
  { timeoutMs: 60_000 },
)

test(
  "no key of a pause is recoverable where an INVITE with Replaces takes the payer's place in it: the leg stays, and so does its pause",
  async () => {
    const [host, number] = ['127.0.7.7', '+49307700']
    const receiver = await StreamReceiver.listen()
    const room = await newRoom(product)
    const ofTrunk = { name: 'Trunk', kind: 'trunk', host, allowed_ips: [host], transfers: 'bridge' }
    const { id: connectionId } = await product.ok('POST', '/connections', ofTrunk)
    await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'room', id: room.roomId } })
    const other = await seat(product, room, 'beside')
    const trunk = await Phone.open('moves', {}, host)
    const first = await trunk.call(number, product.sip)
    const path = await product.until('it is in the room', async () => {
      const call = (await product.all('/calls')).find(one => one.connection_id === connectionId)
      return call?.status === 'in_progress' ? `/calls/${call.id}` : null
    })
    await product.ok('POST', `${path}/streams`, { url: receiver.url, tracks: 'both' })
    const stream = await receiver.until(() => receiver.streams[0])
    await first.press('1', { as: 'rfc4733' })
    await product.until('the measurement is awake', async () => stream.keys === '1' || null)
    await product.ok('POST', `${path}/pci`, { action: 'pause', max_seconds: 120 })
    const payer = await trunk.dial(number, product.sip, { headers: [['Replaces', first.dialog()]] })
    assert.is((await payer.outcome).status, 200)
    await first.ended
    assert.is((await product.api('POST', `${path}/pci`, { action: 'pause' })).status, 409, 'it is on')
    await payer.press(KEYS.taken, { as: 'rfc4733', gapMs: 60 })
    await payer.press(KEYS.tones, { as: 'inband', toneMs: 80 })
    await payer.press(KEYS.held, { as: 'info' })
    await payer.heard.next(2500)
    await product.ok('POST', `${path}/pci`, { action: 'resume' })
    await payer.heard.next(2500)
    await payer.press('1', { as: 'rfc4733' })
    await product.until('keys are keys again', async () => stream.keys === '11' || null)
    assert.is(other.call.keysHeard, '')
    for (const heard of [other.call.heard.samples(), audioOf(stream, stream.tracks.inbound)]) {
      assert.not.match(keysIn(heard), /[02-9]/)
    }
    const shown = [await product.events(), (await product.api('GET', `${path}/sip?limit=100`)).body]
    assert.equal(leaksIn(JSON.stringify(shown), SECRETS), [])
    assert.equal(leaksIn(product.output, SECRETS), [])
    await Phone.closeAll()
    await receiver.close()
  },
  { timeoutMs: 60_000 },
)

test.run()
