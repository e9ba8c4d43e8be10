import { DateTime } from 'luxon'
import * as assert from 'uvu/assert'
import { offlineModel } from '../../../../control/assistants/assistant/offline-model.ts'
import { END_CALL } from '../../../../control/assistants/assistant/tool-names.ts'
import type { ChatMessage } from '../../../../control/models/model.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/assistants/offline/offline-model')

const SHOP = [
  'We are open from nine to six, from Monday to Friday. On Saturday we open from ten to two. On Sunday we are closed.',
  'Delivery takes three working days and costs €5. You can return everything within thirty days.',
  'Our address is 12 Harbour Street. Phone: 0800 555 0134.',
]
/** A Wednesday. */
const NOON = '2026-03-04T12:00'
const tool = (name: string) => ({ name, description: '', parameters: {} })
const QUEUE = [tool(END_CALL), tool('transfer_to_support'), tool('transfer_to_sales')]

/** The reply to the last of these lines of the caller; then the requested tools, in brackets. */
async function answers(
  lines: string[],
  { at = NOON, tools = QUEUE, language = 'en', passages = SHOP } = {},
): Promise<string[]> {
  const model = offlineModel({ language, localTime: async () => DateTime.fromISO(at, { zone: 'Europe/Berlin' }) })
  const messages: ChatMessage[] = []
  const said: string[] = []
  for (const line of lines) {
    messages.push({ role: 'customer', text: line })
    let answer = ''
    for await (const part of model.chat(
      { instructions: '', messages, tools, passages },
      new AbortController().signal,
    )) {
      if (part.kind === 'text') answer += part.text
      if (part.kind === 'call') answer += ` [${part.name}]`
    }
    messages.push({ role: 'assistant', text: answer })
    said.push(answer)
  }
  return said
}
const answer = async (line: string, options: Parameters<typeof answers>[1] = {}) => (await answers([line], options))[0]!

test('"open on Sundays?" is answered for Sunday, and "are you open now?" by the clock of the organisation', async () => {
  assert.is(await answer('open on Sundays?'), 'No, we are closed on Sunday.')
  assert.is(await answer('Um, are you open on Saturday?'), 'Yes. On Saturday we open from ten to two.')
  assert.is(await answer('Are you open now?'), 'Yes, we are open now, until six in the evening.')
  assert.is(
    await answer('are you still open?', { at: '2026-03-07T15:00' }),
    'No, we are closed now. We open again on Monday at nine in the morning.',
  )
  assert.is(
    await answer('are you open tomorrow', { at: '2026-03-07T15:00' }),
    'No, we are closed tomorrow, Sunday. We open again on Monday at nine in the morning.',
  )
  assert.is(
    await answer('when do you open tomorrow'),
    'Tomorrow, Thursday, we are open from nine in the morning to six in the evening.',
  )
})

test('what the documents do not tell it does not know, and offers to connect somebody', async () => {
  const [unknown, taken] = await answers(['Do you repair violins?', 'Yes, please.'])
  assert.is(unknown, 'I am sorry, I do not know that. Shall I put you through to somebody who can help?')
  assert.is(taken, 'One moment, I will put you through. [transfer_to_support]')
  const declined = await answers(['Do you repair violins?', 'No thanks.'])
  assert.match(declined[1]!, /^(All right\. Is there anything else|Thank you for calling)/)
  const alone = await answer('Do you repair violins?', { tools: [tool(END_CALL)] })
  assert.is(alone, 'I am sorry, I do not know that. Is there anything else I can help you with?')
})

test('"say that again?" says the last answer again', async () => {
  const said = await answers(['How much is delivery?', 'Sorry, can you say that again?', 'pardon?'])
  assert.is(said[0], 'Delivery takes three working days and costs five euros.')
  assert.equal(said.slice(1), [said[0], said[0]])
})

test('two questions in one are both answered; what was asked before is what "and on Saturday?" is about', async () => {
  const both = await answer('What does delivery cost and where are you?')
  assert.match(both, /five euros/)
  assert.match(both, /Harbour Street/)
  const leaning = await answers(['When are you open on Monday?', 'And on Saturday?'])
  assert.is(leaning[1], 'On Saturday we open from ten to two.')
  const half = await answer('What does delivery cost, and do you repair violins?')
  assert.match(half, /five euros\. The rest I do not know\. Shall I/)
})

test('the small talk that every caller tries', async () => {
  const said: [string, RegExp][] = [
    ['Hello?', /^Hello/],
    ['Good morning', /^Hello/],
    ['How are you?', /fine/],
    ['Who are you?', /assistant/],
    ['Are you a robot?', /automated assistant, not a person/],
    ['Am I talking to a real person?', /automated assistant, not a person/],
    ['Thank you so much', /welcome/],
    ['Can you hear me?', /I am here/],
    ['What time is it?', /noon/],
    ['What day is it today?', /Wednesday, 4 March/],
    ['Do you speak Spanish?', /only speak English/],
    ['What can you do?', /ask me/],
    ['Hold on', /Take your time/],
    ['Can I talk to a human, please?', /put you through\. \[transfer_to_support\]/],
    ['I want to talk to somebody in sales', /\[transfer_to_sales\]/],
    ['No, that is all, thank you', /Goodbye\. \[end_call\]/],
    ['Okay thanks, bye bye', /Goodbye\. \[end_call\]/],
    ['mumble', /do not know|did not quite catch/],
  ]
  for (const [line, expected] of said) assert.match(await answer(line), expected, line)
})

test('numbers of the documents are read back so that they can be written down', async () => {
  assert.match(await answer("What's your phone number?"), /zero eight zero zero, five five five, zero one three four/)
})

test('in another language the sentence with the words of the question is the answer, as it stands there', async () => {
  const passages = ['Wir verkaufen Boote. Die Lieferung kostet 5 €. Sonntags ist geschlossen.']
  const said = await answer('Was kostet die Lieferung?', { language: 'de', passages })
  assert.is(said, 'Die Lieferung kostet 5 €.')
})

test.run()
