import * as assert from 'uvu/assert'
import type { Line } from '../../../control/quality/analysis/conversation.ts'
import { figuresOf } from '../../../control/quality/analysis/figures.ts'
import { topicsIn } from '../../../control/quality/analysis/topics.ts'
import { plainWords, stemOf } from '../../../control/quality/analysis/words.ts'
import { suite } from '../../harness.ts'

const test = suite('control/quality/figures')

const line = (side: Line['side'], startMs: number, endMs: number, text = 'Word.'): Line => ({
  id: `seg_${startMs}`,
  participantId: side,
  ...{ side, text, startMs, endMs },
  stems: plainWords(text).map(stemOf),
})

test('talk ratio, silence, monologue, speed and interruptions are counted of the times and words of the lines', () => {
  const lines = [
    line('agent', 0, 6000, 'One two three four five six.'),
    line('customer', 10_000, 16_000, 'I see.'),
    line('agent', 15_000, 20_000, 'But let me say this.'),
    line('agent', 20_000, 25_000, 'And this too.'),
    line('product', 25_000, 27_000, 'Beep.'),
    line('agent', 27_000, 28_000),
  ]
  const figures = figuresOf({ lines, language: 'en' })
  assert.equal([figures.agent_ms, figures.customer_ms, figures.product_ms], [17_000, 6000, 2000])
  assert.is(figures.talk_ratio, 0.739)
  assert.is(figures.silence_seconds, 4)
  assert.is(figures.monologue_seconds, 10)
  assert.is(figures.interruptions, 1)
  assert.is(figures.words_per_minute, 53)
})

test('what cannot be told is null, not zero', () => {
  const { talk_ratio, words_per_minute, sentiment } = figuresOf({ lines: [line('product', 0, 100)], language: 'en' })
  assert.equal([talk_ratio, words_per_minute, sentiment], [null, null, null])
  const said = [line('customer', 0, 100, 'terrible terrible')]
  assert.is(figuresOf({ lines: said, language: 'fr' }).sentiment, null)
  assert.ok((figuresOf({ lines: said, language: 'en' }).sentiment ?? 0) < 0)
})

test("topics are the customer's words that mean something; one and several of a thing are the same, and a pair stands for both its words", () => {
  const lines = [
    line('customer', 0, 1, 'My coffee machine leaks, and the deliveries were late.'),
    line('customer', 2, 3, 'Is the coffee machine in this delivery?'),
    line('agent', 4, 5, 'Giraffe giraffe giraffe.'),
  ]
  const topics = topicsIn(lines)
  assert.equal(topics.slice(0, 2), ['coffee machine', 'delivery'])
  assert.not.ok(topics.includes('coffee') || topics.includes('giraffe'))
})

test.run()
