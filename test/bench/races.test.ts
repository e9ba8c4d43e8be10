import * as assert from 'uvu/assert'
import { wrongAnswers } from '../../bench/races/checks.ts'
import { suite } from '../harness.ts'

const test = suite('bench/races')

const STARTING = { error: { message: 'The recording is only being started, or has just ended.' } }

const sent = (atMs: number, status: number, answer: object = {}) => ({
  ...{ atMs, status, answer, tookMs: 1, line: 'POST /calls/a/recording', body: null },
  ...{ key: null, replayed: false, requestId: null },
})

test('what is only being started may be refused for a moment, not for as long as somebody asks', () => {
  assert.equal(wrongAnswers([sent(0, 503, STARTING), sent(2000, 503, STARTING)], false), [])
  assert.equal(wrongAnswers([sent(0, 503, STARTING), sent(1000, 200), sent(9000, 503, STARTING)], false), [])
  assert.is(wrongAnswers([sent(0, 503, STARTING), sent(9000, 503, STARTING)], false).length, 1)
  assert.is(wrongAnswers([sent(0, 503)], false).length, 1)
})

test.run()
