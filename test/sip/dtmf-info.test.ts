import * as assert from 'uvu/assert'
import { formatDtmfInfo, parseDtmfInfo } from '../../sip/dtmf-info.ts'
import { suite } from '../harness.ts'

const test = suite('sip/dtmf-info')
const parse = (type: string, text: string) => parseDtmfInfo(type, Buffer.from(text))

test('dtmf-relay carries a signal and a duration, dtmf a bare key', () => {
  assert.equal(parse('application/dtmf-relay', 'Signal=5\r\nDuration=250\r\n'), { digit: '5', durationMs: 250 })
  assert.equal(parse('Application/DTMF-Relay; x=y', 'duration = 100\nsignal = #'), { digit: '#', durationMs: 100 })
  assert.equal(parse('application/dtmf', ' d\r\n'), { digit: 'D', durationMs: 160 })
  assert.equal(parse('application/dtmf-relay', 'Signal=10'), { digit: '*', durationMs: 160 })
  assert.equal(parse('application/dtmf-relay', 'Signal=1\r\nDuration=999999'), { digit: '1', durationMs: 5000 })
})

test('anything else is null', () => {
  for (const [type, text] of [
    ['application/dtmf-relay', 'Signal='],
    ['application/dtmf-relay', 'Signal=55'],
    ['application/dtmf', 'E'],
    ['application/dtmf', ''],
    ['text/plain', '5'],
    ['application/dtmf', '5'.repeat(2000)],
  ] as const) {
    assert.is(parse(type, text), null)
  }
})

test('what is written is read back', () => {
  const info = { digit: '*', durationMs: 120 }
  assert.equal(parseDtmfInfo('application/dtmf-relay', formatDtmfInfo(info)), info)
})

test.run()
