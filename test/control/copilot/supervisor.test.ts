import * as assert from 'uvu/assert'
import { wordsOf } from '../../../control/copilot/words/fold.ts'
import { asksForSupervisor } from '../../../control/copilot/words/supervisor.ts'
import { suite } from '../../harness.ts'

const test = suite('control/copilot/supervisor')

const ASKED = [
  "I'd like to speak to whoever is in charge",
  'may I talk to your boss',
  'get your manager on the line',
  'I wish to speak with a supervisor',
  'could you call your manager',
  'get me a manager, my bill is wrong',
  'I insist on speaking to a manager',
  'let me speak with your supervisor',
  'I want to talk to someone in charge',
  'put me through to your boss',
  'can I speak to a supervisor please',
  'is there a manager I can talk to',
  'I demand to see the manager',
  'connect me to your supervisor',
  'I need your manager',
  'who is in charge there',
  'give me your supervisor',
  'I want to escalate this',
  "I'd rather talk to your superior",
  'No, I want your manager',
  'תן לי לדבר עם המנהל שלך',
  'אני רוצה לדבר עם מנהלת',
  'תעביר אותי למנהל',
  'תני לי מנהל',
]
const NOT_ASKED = [
  'your manager called me',
  'I want to become a manager',
  'the manager gave me a discount',
  'I want to talk to my boss about it',
  'do you want my manager to call you',
  'do you need your manager to approve that',
  'I called your manager twice',
  'my wife is in charge of the money',
  'who is in charge of the delivery',
  'I spoke to your manager yesterday',
  'I talked to a supervisor last week',
  'I am the manager of a shop',
  'I have spoken with a manager before',
  'I do not need a manager',
  "I don't want to speak to your manager",
  'my supervisor told me to call you',
  'I will talk to my manager first',
  'there was a charge on my card',
  'דיברתי עם מנהל אתמול',
  'אני מנהל חנות',
  'אני צריך לדבר עם המנהל שלי',
]

for (const [wanted, sentences] of [
  [true, ASKED],
  [false, NOT_ASKED],
] as const) {
  for (const sentence of sentences) {
    test(`who says this asks for${wanted ? '' : ' no'} supervisor: "${sentence}"`, () => {
      assert.is(asksForSupervisor(wordsOf(sentence), []), wanted)
    })
  }
}

test('phrases of the alert count beside the usual words', () => {
  const words = wordsOf('Let me have the duty officer')
  assert.is(asksForSupervisor(words, []), false)
  assert.is(asksForSupervisor(words, ['duty officer']), true)
})

test.run()
