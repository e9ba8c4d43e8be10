import * as assert from 'uvu/assert'
import { caseLine, cutOf } from '../../bench/hearing/cases.ts'
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

test('a call that was not heard as it was said tells whether its audio was cut, and where its words went wrong', () => {
  const call = {
    text: 'Are dogs welcome here?',
    from: 8000,
    to: 16_000,
    line: new Int16Array(0),
    answer: null,
    echoDb: null,
  }
  const heardAs = (text: string, from: number, to: number) => {
    const heard = { text, utterances: [{ from, to, text }], declared: 1, answerHeard: null, answerMs: null }
    return { call, heard: { ...heard, sent: new Int16Array(0) }, byHand: 'Are dogs welcome here?' }
  }
  const lineOf = (text: string, from: number, to: number) => caseLine(heardAs(text, from, to), of(call.text, text))
  assert.is(lineOf('Are dogs welcome here?', 6400, 17_600), null)
  assert.match(lineOf('Our dogs welcome here?', 6400, 17_600)!, /^1 misheard at an edge: .*audio from -200 to 200 ms/)
  assert.match(lineOf('Are docks welcome here?', 6400, 17_600)!, /^1 wrong inside: /)
  assert.match(lineOf('dogs welcome here?', 9600, 17_600)!, /^cut 200\+0 ms, 1 gone: /)
  assert.equal(cutOf(call, heardAs('welcome', 9600, 15_200).heard), { beginMs: 200, endMs: 100 })
})

test.run()
