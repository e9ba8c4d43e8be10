import { DateTime } from 'luxon'
import * as assert from 'uvu/assert'
import { objectionsIn } from '../../../control/copilot/fast/objections.ts'
import { fieldValue } from '../../../control/copilot/fields/values.ts'
import { wordsOf } from '../../../control/copilot/words/fold.ts'
import { anySaid } from '../../../control/copilot/words/phrases.ts'
import { suite } from '../../harness.ts'

const test = suite('control/copilot/said-otherwise')

/** How a team writes its objections. */
const OBJECTIONS = {
  price: ['It costs too much', 'I cannot afford that right now', 'The other gym is cheaper'],
  budget: ['We do not have the budget for that', 'Your competitor charges less'],
  spouse: ['I have to discuss it with my wife', 'My husband is not at home'],
  decide: ['I have to ask my boss', 'My partner decides about these things'],
  happy: ['We already use another system', 'What we have works fine for us'],
  branch: ['I do not like doing banking on my phone', 'I prefer to go to a branch'],
  scam: ['This sounds like a scam', 'I had a bad experience with another company'],
  mail: ['Just send me an email with the details'],
  think: ['think about it', 'I have to think about it first'],
  price_he: ['חברה אחרת הציעה לי פחות', 'הפרמיה עלתה הרבה'],
  think_he: ['אני צריך להתייעץ עם אשתי'],
}

/** What customers say, and which objection that is. */
const SAID: readonly (readonly [text: string, objection: keyof typeof OBJECTIONS | null])[] = [
  ["I really can't afford this at the moment", 'price'],
  ['that would cost us far too much', 'price'],
  ['the gym down the road is a lot cheaper', 'price'],
  ["We don't have any budget left this year", 'budget'],
  ['Other vendors charge a good deal less than you do', 'budget'],
  ["My wife isn't home right now", 'spouse'],
  ['I need to talk to my husband about that first', 'spouse'],
  ["That's up to my business partner, she decides on such things", 'decide'],
  ['I would have to check with my boss first', 'decide'],
  ["We've already got another system for that", 'happy'],
  ['It works just fine for us', 'happy'],
  ["I'd rather go to a branch", 'branch'],
  ["I don't like to do banking on a phone", 'branch'],
  ['We had really bad experiences with a different company', 'scam'],
  ["Why don't you just email me the details?", 'mail'],
  ['חברה אחרת מציעה לי פחות', 'price_he'],
  ['הפרמיה עלתה מאוד השנה', 'price_he'],
  ['אני צריכה להתייעץ קודם עם בעלי', 'think_he'],
  ['I will have to think about it', 'think'],
  ['Let me think about it for a day', 'think'],
  ['What do you think about it?', null],
  ['So, what would you think about it first?', null],
  ['How did he think about it?', null],
  ['My husband says hello', null],
  ['The company was recommended by my wife', null],
  ['My boss was happy with what you sent', null],
  ['The budget is not a problem for us', null],
  ['I cannot hear you right now', null],
  ['I like your app on my phone', null],
  ['How do I log in to the system?', null],
  ['The data comes from our old system', null],
  ['Only my wife and I', null],
  ['I will talk to my lawyer', null],
  ['My internet has not worked for three days', null],
  ['We have a big team in another city', null],
  ['אני רוצה לחדש ביטוח לדירה', null],
]

const objections = Object.entries(OBJECTIONS).map(([key, examples]) => ({
  ...{ key, label: key, examples, triggers: [], response: '', follow_up: '', kb_query: '' },
}))
const model = { objection_similarity: 0.75 } as Parameters<typeof objectionsIn>[0]['model']

for (const [text, objection] of SAID) {
  test(`"${text}" is ${objection === null ? 'no objection' : `the objection "${objection}"`}`, () => {
    const found = objectionsIn({ objections, model }, text, wordsOf(text)).map(({ key }) => key)
    assert.equal(found, objection === null ? [] : [objection])
  })
}

for (const [phrase, said] of [
  ['do you have a minute', 'Have you got a minute?'],
  ['cannot afford', "I can't afford that"],
  ['have a good day', 'Have a great day!'],
  ['try it for a week', 'Why not try it for a week?'],
  ['לפנות לעורך דין', 'אם זה יימשך אני אפנה לעורך דין'],
  ['מה קרה', 'ומה בעצם קרה?'],
] as const) {
  test(`"${phrase}" was said: "${said}"`, () => assert.is(anySaid(wordsOf(said), [phrase]), phrase))
}

for (const [phrase, said] of [
  ['best gym in town', 'We never said we are the best gym in town'],
  ['do you have a minute', 'Wait a minute'],
  ['cancel my contract', 'I want to renew my contract'],
  ['try it for a week', 'You should not try it for a week'],
] as const) {
  test(`"${phrase}" was not said: "${said}"`, () => assert.is(anySaid(wordsOf(said), [phrase]), null))
}

/** Of Wednesday, 25 November 2026. */
const TODAY = DateTime.fromISO('2026-11-25', { zone: 'utc' })
type Type = Parameters<typeof fieldValue>[0]['type']

/** Answers to a question for a detail of this type, and what it is. */
const ANSWERS: readonly (readonly [type: Type, answer: string, value: string | null])[] = [
  ['date', 'the day after tomorrow', '2026-11-27'],
  ['date', 'in two weeks', '2026-12-09'],
  ['date', 'a week from today', '2026-12-02'],
  ['date', 'on the fifteenth', '2026-12-15'],
  // A word that every object of JavaScript knows.
  ['date', 'on the constructor', null],
  ['date', 'twelfth of May nineteen eighty four', '1984-05-12'],
  ['date', 'בעוד שבוע', '2026-12-02'],
  ['date', 'מחרתיים', '2026-11-27'],
  ['time', 'quarter past three', '03:15'],
  ['time', 'ten to five', '04:50'],
  ['time', 'quarter to eight tonight', '19:45'],
  ['time', 'eleven fifteen', '11:15'],
  ['time', 'at 12:30 a.m.', '00:30'],
  ['time', 'at 12:30 pm', '12:30'],
  ['time', 'three thirty in the afternoon', '15:30'],
  ['time', 'seven', '07:00'],
  ['time', 'I think I would take the one over there', null],
  ['time', 'בשעה עשר וחצי', '10:30'],
  ['time', 'ברבע לתשע', '08:45'],
  ['money', 'two and a half thousand dollars', '2500 USD'],
  ['money', 'three grand', '3000'],
  ['money', 'twenty five dollars and fifty cents', '25.5 USD'],
  ['money', 'אלף חמש מאות שקל', '1500 ILS'],
  ['money', 'בערך אלפיים שקל', '2000 ILS'],
  ['number', 'a dozen', '12'],
  ['number', 'just me', '1'],
  ['email', 'it is anna nine nine at yahoo dot com', 'anna99@yahoo.com'],
  ['name', 'you can call me Bob', 'Bob'],
  ['name', 'Under Daniel Price.', 'Daniel Price'],
  ['name', 'Fine, I know that.', null],
  ['boolean', 'of course', 'true'],
  ['boolean', 'I do', 'true'],
  ['boolean', "I'm afraid not", 'false'],
  ['boolean', 'I will have to think about it', null],
  ['boolean', "I'm not sure", null],
]

for (const [type, answer, value] of ANSWERS) {
  test(`${type}: "${answer}" is ${value ?? 'nothing'}`, () => {
    const field = { ...{ key: type, label: type, type, hint: '', options: [], pattern: '', required: false } }
    const said = { text: answer, words: wordsOf(answer), language: 'en', today: TODAY }
    assert.is(fieldValue(field, { ...said, isAsked: true, isAnswer: true, isOnly: true }), value)
  })
}

test('the one option is chosen of which a word was said that no other has', () => {
  const options = ['credit card', 'bank transfer']
  const field = {
    ...{ key: 'pay', label: 'Pay', type: 'choice' as const, hint: '', pattern: '', required: false },
    options,
  }
  const chosen = (text: string) => {
    const said = { text, words: wordsOf(text), language: 'en', today: TODAY }
    return fieldValue(field, { ...said, isAsked: true, isAnswer: true, isOnly: true })
  }
  assert.equal(
    [chosen('by card'), chosen('a transfer, not a card'), chosen('in cash')],
    ['credit card', 'bank transfer', null],
  )
})

test.run()
