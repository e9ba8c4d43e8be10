import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { endedCall } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const test = sharedSuite('e2e/signalling/too-late')

/** What can be done in a call only while it goes on. */
const ACTIONS: Record<string, object> = {
  say: { text: 'Hello.' },
  play: { audio_asset_id: 'aud_none' },
  dtmf: { digits: '1' },
  pci: { action: 'pause' },
  'recording/start': {},
  'transcript/start': {},
  hold: {},
  transfer: { to: 'sip:bob@192.0.2.1' },
}

test('what can only be done in a running call answers 409 with the reason: it is not answered yet, or it has ended', async () => {
  await product.ok('PATCH', '/organisation', { pci: { enabled: true } })
  const phone = await Phone.open('late')
  const rings = phone.next()
  const { id } = await product.ok('POST', '/calls', { to: phone.uri })
  const call = await rings
  const refusals = () =>
    Promise.all(
      Object.entries(ACTIONS).map(async ([action, body]) => {
        const { status, body: answer } = await product.api('POST', `/calls/${id}/${action}`, body)
        return [action, status, answer.error?.details?.reason, answer.error?.message]
      }),
    )
  const all = (message: string) => Object.keys(ACTIONS).map(action => [action, 409, 'not_running', message])
  assert.equal(await refusals(), all('The call is not answered yet.'))
  call.answer()
  await call.hangup()
  await endedCall(product, id)
  assert.equal(await refusals(), all('The call has ended.'))
  await phone.close()
})

test.run()
