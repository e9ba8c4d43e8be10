// Sleeps most: it waits most of the time, and judges only sounds that last.
import * as assert from 'uvu/assert'
import { levelAt } from '../../bench/spectrum.ts'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { callFrom, endedCall, HEARD_DBOV } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Baresip } from './peers/baresip.ts'

const missing = missingPrograms('baresip')
const test = sharedSuite('interop/baresip', { timeoutMs: 60_000, missing })
const TONE_HZ = 700

const eventOf = (type: string, callId: string) =>
  product.until(`${type} of ${callId}`, async () =>
    (await product.events()).find(event => event.type === type && event.data.object.id === callId),
  )

/** Waits until the engine has received this much audio from the caller [ms]. */
const talked = (callId: string, ms: number) =>
  product.until(`${ms} ms of audio`, async () => {
    const { quality } = await product.ok('GET', `/calls/${callId}`)
    return quality.some((leg: { packets_received: number }) => leg.packets_received > ms / 20) ? true : null
  })

for (const codec of ['PCMU', 'PCMA'] as const) {
  test(`baresip calls the echo with ${codec}, hears itself, and presses a key`, async () => {
    const baresip = await Baresip.start({ toneHz: TONE_HZ, codec })
    try {
      baresip.dial(`sip:1002@${product.sip.host}:${product.sip.port}`)
      await baresip.until('CALL_ESTABLISHED')
      const call = await callFrom(product, 'baresip')
      baresip.press('5')
      await talked(call.id, 7000)
      baresip.hangup()
      await baresip.until('CALL_CLOSED')
      const heard = await baresip.heard()
      const level = levelAt(TONE_HZ, heard, heard.length - NARROWBAND_HZ, heard.length)
      assert.ok(level > HEARD_DBOV, `${level} dBov of its own tone`)
      assert.is((await endedCall(product, call.id)).ended_reason, 'caller_hangup')
    } finally {
      await baresip.stop()
    }
  })
}

test('baresip answers a call that the API places, hears music on hold, and is hung up', async () => {
  const baresip = await Baresip.start({ toneHz: TONE_HZ, answers: true })
  try {
    const call = await product.ok('POST', '/calls', { to: baresip.uri })
    await baresip.until('CALL_ESTABLISHED')
    await eventOf('call.answered', call.id)
    await talked(call.id, 1500)
    await product.ok('POST', `/calls/${call.id}/hangup`)
    await baresip.until('CALL_CLOSED')
    assert.ok(
      (await baresip.heard()).some(sample => Math.abs(sample) > 500),
      'it heard nothing',
    )
    assert.is((await endedCall(product, call.id)).ended_reason, 'api_hangup')
  } finally {
    await baresip.stop()
  }
})

test.run()
