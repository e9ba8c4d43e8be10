import * as assert from 'uvu/assert'
import { compare, wordsOf } from '../../bench/hearing/score.ts'
import { suite } from '../harness.ts'

const test = suite('bench/hearing-score')

const of = (said: string, heard: string) => compare(wordsOf(said), wordsOf(heard))

test('words that are missing at an edge are told from words that were taken for others', () => {
  const begin = of('What is the capital of France?', 'Friends.')
  assert.equal([begin.errors, begin.missingAtBegin, begin.goneAtBegin, begin.goneAtEnd], [6, 6, 5, 0])
  const end = of('I want to cancel my appointment for tomorrow.', 'I want to cancel.')
  assert.equal([end.missingAtBegin, end.missingAtEnd, end.goneAtBegin, end.goneAtEnd], [0, 4, 0, 4])
  const misheard = of('How long will the repair take?', 'Now the long will the repair take.')
  assert.equal([misheard.errors, misheard.missingAtBegin, misheard.goneAtBegin], [2, 1, 0])
  const unheard = of('Should I bring anything?', '')
  assert.equal([unheard.missingAtBegin, unheard.missingAtEnd, unheard.goneAtBegin, unheard.goneAtEnd], [4, 0, 4, 0])
})

test.run()
