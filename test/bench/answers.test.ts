import * as assert from 'uvu/assert'
import { judge } from '../../bench/answers/judge.ts'
import { readQuestions } from '../../bench/answers/questions.ts'
import { benchAnswers } from '../../bench/answers/run.ts'
import { suite } from '../harness.ts'

const test = suite('bench/answers')

test(
  'of 100 questions that were not looked at while building, an assistant without a model answers 80 right and at most 5 wrong',
  async () => {
    const { tallies } = await benchAnswers(['unseen'])
    const written = tallies.find(({ way }) => way === 'said')!
    assert.is(written.right + written.wrong + written.honest, 100)
    assert.ok(written.right >= 80, `${written.right} right`)
    assert.ok(written.wrong <= 5, `${written.wrong} wrong`)
    const heard = tallies.find(({ way }) => way === 'heard')!
    assert.ok(heard.wrong <= 5, `${heard.wrong} wrong of what the offline ear heard`)
  },
  { timeoutMs: 60_000 },
)

test('the same half of the questions is kept aside on every machine, and each was heard', () => {
  const questions = readQuestions()
  assert.is(questions.length, 200)
  assert.is(questions.filter(({ half }) => half === 'unseen').length, 100)
  assert.ok(questions.every(({ heard }) => heard !== ''))
  assert.is(questions.find(({ half }) => half === 'unseen')?.said, 'hi um what time do you open tomorrow')
})

test('an answer is right with all facts, honest when it admits a gap, wrong in all else', () => {
  const of = (text: string, right: string[], calls: string[] = [], previous = '') =>
    judge(right, { text, calls, previous })
  assert.is(of('It costs forty-nine euros.', ['49']), 'right')
  assert.is(of('It costs one hundred fifty euros.', ['150']), 'right')
  assert.is(of('Call one eight five, zero.', ['#1850']), 'right')
  assert.is(of('We open at eight thirty a m.', ['8 30', '!closed']), 'right')
  assert.is(of('It costs forty-nine euros.', ['49', 'monday']), 'wrong')
  assert.is(of('I do not know that.', ['49']), 'honest')
  assert.is(of('I do not know that.', ['@dontknow']), 'right')
  assert.is(of('Forty-nine.', ['@dontknow']), 'wrong')
  assert.is(of('Goodbye.', ['49'], ['end_call']), 'wrong')
  assert.is(of('Goodbye.', ['@bye'], ['end_call']), 'right')
  assert.is(of('It is free.', ['@repeat'], [], 'It is free.'), 'right')
})

test.run()
