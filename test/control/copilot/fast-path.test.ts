import * as assert from 'uvu/assert'
import { reduce } from '../../../control/copilot/fast/reduce.ts'
import { byOf, fieldSlot, itemSlot, valueOfSlot } from '../../../control/copilot/fast/slots.ts'
import {
  type CopilotInput,
  type Notice,
  newState,
  type Outgoing,
  type Party,
} from '../../../control/copilot/fast/state.ts'
import type { ProfileSettings } from '../../../control/copilot/schema.ts'
import { suite } from '../../harness.ts'
import { PROFILE } from './profiles.ts'

const test = suite('control/copilot/fast-path')

/** A conversation on a clock of its own. */
function talk(profile: ProfileSettings = PROFILE) {
  let state = newState('2026-11-22T10:00:00.000Z')
  let [at, serial] = [0, 0]
  const messages: Outgoing[] = []
  const notices: Notice[] = []
  const give = (input: CopilotInput): Outgoing[] => {
    const outcome = reduce(state, profile, input)
    state = outcome.state
    messages.push(...outcome.messages)
    notices.push(...outcome.notices)
    return outcome.messages
  }
  const say = (party: Party, text: string, more: { id?: string; isFinal?: boolean; ms?: number } = {}): Outgoing[] => {
    const { id = `u${++serial}`, isFinal = true, ms = 2000 } = more
    const fromMs = at
    at += ms
    return give({ kind: 'said', atMs: at, id, party, text, isFinal, fromMs, toMs: at })
  }
  return {
    give,
    say,
    messages,
    notices,
    state: () => state,
    wait: (seconds: number): Outgoing[] => {
      const out: Outgoing[] = []
      for (let i = 0; i < seconds; i++) {
        at += 1000
        out.push(...give({ kind: 'tick', atMs: at, isQuiet: false }))
      }
      return out
    },
    at: () => at,
    field: (key: string) => valueOfSlot(state.slots[fieldSlot(key)]),
    item: (stage: string, key: string) => valueOfSlot(state.slots[itemSlot(stage, key)]),
    stage: () => state.slots['stage:']?.told?.value,
  }
}
const ofType = (messages: readonly Outgoing[], type: string) => messages.filter(message => message.type === type)

test('an item is done by its phrase, inflected and slightly misheard, and the stage follows', () => {
  const call = talk()
  call.say('agent', 'Thanks for calling Tandem.')
  assert.is(call.stage(), 'open')
  call.say('agent', 'Thank you for calling. May I have your acount numbers please?')
  assert.equal([call.item('open', 'greet'), call.item('open', 'verify'), call.stage()], ['done', 'done', 'need'])
  call.say('agent', 'So, how can I help you today?')
  assert.is(call.stage(), 'close')
})

test('an item in Hebrew is done with its prefixes and endings', () => {
  const profile: ProfileSettings = {
    ...PROFILE,
    language: 'he',
    stages: [
      {
        key: 'a',
        label: 'פתיחה',
        goal: '',
        checklist: [{ key: 'told', label: 'הקלטה', ask: '', phrases: ['שיחה מוקלטת'], required: true }],
      },
    ],
  }
  const call = talk(profile)
  call.say('agent', 'שלום, לידיעתך הַשִּׂיחָה מוקלטת.')
  assert.is(call.item('a', 'told'), 'done')
  const other = talk(profile)
  other.say('agent', 'השיחה לא מוקלטת')
  assert.is(other.item('a', 'told'), null)
})

test('what was said with a not is not said', () => {
  const call = talk()
  call.say('agent', 'We do not guarantee anything.')
  assert.equal(ofType(call.messages, 'compliance'), [])
})

for (const words of [
  "I'm not going to cancel my contract.",
  "I don't want to cancel my contract over this",
  'I never meant to cancel my contract',
  'אני לא רוצה לבטל את החוזה שלי',
]) {
  test(`what nobody wishes is no alert: "${words}"`, () => {
    const call = talk({ ...PROFILE, alerts: [{ ...PROFILE.alerts[0]!, phrases: CANCEL }] })
    call.say('customer', words)
    assert.equal(ofType(call.messages, 'alert'), [])
  })
}

for (const words of [
  'No, I want to cancel my contract.',
  'no I want to cancel my contract',
  'Why not? Cancel my contract.',
  'It does not work. I want to cancel my contract.',
  'לא, אני רוצה לבטל את החוזה',
]) {
  test(`an answer or a sentence before unsays nothing: "${words}"`, () => {
    const call = talk({ ...PROFILE, alerts: [{ ...PROFILE.alerts[0]!, phrases: CANCEL }] })
    call.say('customer', words)
    assert.equal(
      ofType(call.messages, 'alert').map(({ body }) => body.key),
      ['cancel'],
    )
  })
}

test('a phrase whose words were cut elsewhere by the recogniser was said', () => {
  const call = talk()
  call.say('agent', 'Of course, have an ice day.')
  assert.is(call.item('close', 'goodbye'), 'done')
  call.say('agent', 'May I have your account, numb era?')
  assert.is(call.item('open', 'verify'), null)
})

test('a phrase is said in its long and in its short form', () => {
  for (const [phrase, words] of [
    ['I would recommend', "Then I'd recommend the small one."],
    ["that's all we need", 'And that is all we need.'],
    ['who are we speaking to', "Who're we speaking to?"],
  ] as const) {
    const [stage] = PROFILE.stages
    const item = { ...stage!.checklist[0]!, phrases: [phrase] }
    const call = talk({ ...PROFILE, stages: [{ ...stage!, checklist: [item] }] })
    call.say('agent', words)
    assert.is(call.item('open', 'greet'), 'done', words)
  }
})

test('a forbidden phrase is warned of at once, with what to say instead and why', () => {
  const call = talk()
  const [message] = ofType(call.say('agent', 'Of course we guarantee it', { isFinal: false }), 'compliance')
  assert.equal(message?.body, {
    kind: 'forbidden_phrase',
    phrase: 'we guarantee',
    instead: 'we expect',
    reason: 'Nobody can promise it.',
    severity: 'critical',
  })
  assert.is(message?.path, 'fast')
  assert.equal(message?.utterances, ['u1'])
})

test('what an interim transcript claimed is withdrawn by id when the final one has other words', () => {
  const call = talk()
  const interim = call.say('agent', 'your account number', { id: 'a', isFinal: false })
  const [done] = ofType(interim, 'checklist')
  assert.is(call.item('open', 'verify'), 'done')
  const final = call.say('agent', 'your discount on lumber', { id: 'a' })
  assert.equal(
    ofType(final, 'checklist').map(({ withdraws }) => withdraws),
    [done?.seq],
  )
  assert.is(call.item('open', 'verify'), null)
})

test('a message of an interim transcript that the final one confirms is not told twice', () => {
  const call = talk()
  call.say('agent', 'your account number', { id: 'a', isFinal: false })
  const final = call.say('agent', 'your account number please', { id: 'a' })
  assert.equal(
    final.map(({ type }) => type),
    ['transcript'],
  )
})

test('a field that the final transcript corrects is replaced by id', () => {
  const call = talk()
  const [first] = ofType(
    call.say('customer', 'mail me at ann at example dot com', { id: 'a', isFinal: false }),
    'field',
  )
  const [second] = ofType(call.say('customer', 'mail me at anna at example dot com', { id: 'a' }), 'field')
  assert.equal([second?.body.value, second?.replaces], ['anna@example.com', first?.seq])
})

const CANCEL = ['cancel my contract', 'לבטל את החוזה']

const FIELDS: [string, string, string | null, string | null][] = [
  ['phone', 'Call me on four one five five five five oh one two three', null, '+14155550123'],
  ['phone', 'my number is 415-555-0123', null, '+14155550123'],
  ['email', 'It is Ann.Smith@Example.com', null, 'ann.smith@example.com'],
  ['name', 'Hello, my name is Ann Smith and I call about a bill', null, 'Ann Smith'],
  ['name', 'Ann Smith', 'What is your name please?', 'Ann Smith'],
  ['name', "Sure, it's Ann Smith. And I have a question about the bill.", 'What is your name please?', 'Ann Smith'],
  ['name', "I'm Ann Smith.", null, 'Ann Smith'],
  ['name', 'Hi, this is Ann Smith', null, 'Ann Smith'],
  ['name', 'hello this is ann smith calling', null, 'Ann Smith'],
  ['name', 'this is ann smith', 'What is your name please?', 'Ann Smith'],
  ['name', 'this is ridiculous', null, null],
  ['name', 'My name is spelled wrong on the bill', null, null],
  ['name', 'Good morning, this is Dr. Smith', null, 'Dr Smith'],
  ['phone', 'The ticket number is 12345678', null, null],
  ['phone', 'You can ring me on 020 794 601', null, '020794601'],
  ['at', 'I live at 12 Baker Street', null, null],
  ['at', 'I come at five on my way home', null, '05:00'],
  ['street', 'I come at five on my way home', null, null],
  ['name', 'This is great, thanks', null, null],
  ['seats', 'Call me on 415-555-0123', 'And the number of seats?', null],
  ['owner', 'I am not happy with my account owner', null, null],
  ['visit', 'I pay less than that today', null, null],
  ['visit', 'בחמישה במרץ', null, '2026-03-05'],
  ['seats', 'twenty five', 'And the number of seats?', '25'],
  ['plan', 'we would like premium plus', null, 'premium plus'],
  ['owner', 'No, that is my brother', 'Are you the account owner?', 'false'],
  ['visit', 'on the third of December', null, '2026-12-03'],
  ['visit', 'tomorrow is fine', null, '2026-11-23'],
  ['visit', 'Do you open tomorrow?', null, null],
  ['visit', 'Is Monday a holiday? I do not know.', null, null],
  ['visit', 'Is that so? Tomorrow is fine.', null, '2026-11-23'],
  ['visit', 'How about tomorrow?', 'Which day suits you?', '2026-11-23'],
  ['at', 'at half past three in the afternoon', null, '15:30'],
  ['budget', 'I can spend two hundred and fifty dollars', null, '250 USD'],
  ['street', 'I live at 12 Baker Street', null, '12 Baker Street'],
  ['order', 'It is A B one two three four', null, 'AB1234'],
]
for (const [key, answer, question, value] of FIELDS) {
  test(`a field of its type is heard: ${key} in "${answer}"`, () => {
    const call = talk()
    if (question !== null) call.say('agent', question)
    call.say('customer', answer)
    assert.is(call.field(key), value)
  })
}

test('who asks how many asks for the number of them, in Hebrew too', () => {
  const number = (label: string) => ({ ...PROFILE.fields.find(({ key }) => key === 'seats')!, key: 'n', label })
  for (const [label, question, answer] of [
    ['Number of users', 'How many users do you have?', 'twenty five'],
    ['מספר משתמשים', 'כמה משתמשים יש לכם?', 'עשרים וחמישה משתמשים'],
  ] as const) {
    const call = talk({ ...PROFILE, fields: [number(label)] })
    call.say('agent', question)
    call.say('customer', answer)
    assert.is(call.field('n'), '25', label)
  }
})

test('a number that nobody asked for is no number of seats', () => {
  const call = talk()
  call.say('customer', 'I waited for twenty five minutes')
  assert.is(call.field('seats'), null)
})

test('what a person decided wins over what is heard', () => {
  const call = talk()
  call.give({ kind: 'field', atMs: 0, key: 'plan', value: 'basic' })
  call.say('customer', 'I take premium')
  assert.equal([call.field('plan'), byOf(call.state().slots[fieldSlot('plan')])], ['basic', 'person'])
  call.say('agent', 'account number please')
  call.give({ kind: 'check', atMs: 0, item: 'open/verify', done: false })
  call.say('agent', 'account number please')
  assert.is(call.item('open', 'verify'), null)
  call.give({ kind: 'stage', atMs: 0, key: 'close' })
  call.say('agent', 'thank you for calling')
  assert.is(call.stage(), 'close')
})

test('an objection is answered by its trigger and by its meaning, and not for any other words', () => {
  for (const words of ['I get it cheaper elsewhere', 'the price is too high for us', 'this is too expensive for me']) {
    const [objection] = ofType(talk().say('customer', words), 'objection')
    assert.equal([objection?.body.key, objection?.body.response], ['price', 'It pays for itself.'], words)
  }
  const call = talk()
  call.say('customer', 'What time do you open tomorrow?')
  call.say('customer', 'My name is John Smith and I live in London')
  call.say('agent', 'That costs too much money')
  assert.equal(ofType(call.messages, 'objection'), [])
})

test('sentences of the same kind that speak of something else are no objection, and two sentences are two', () => {
  const objections = [
    { ...PROFILE.objections[0]!, key: 'think', triggers: [], examples: ['I have to talk to my husband first'] },
    { ...PROFILE.objections[0]!, key: 'time', triggers: [], examples: ['I am busy right now, call me later'] },
  ]
  const call = talk({ ...PROFILE, objections })
  for (const words of ['I will talk to my lawyer.', 'Only my wife and I.', 'I want to speak to your manager.']) {
    call.say('customer', words)
  }
  assert.equal(ofType(call.messages, 'objection'), [])
  const both = call.say('customer', 'I need to talk to my wife about it first. Call me later, I am really busy now.')
  assert.equal(
    ofType(both, 'objection')
      .map(({ body }) => body.key)
      .toSorted(),
    ['think', 'time'],
  )
})

test('an objection in Hebrew is told by the words of an example, in whatever order', () => {
  const objections = [{ ...PROFILE.objections[0]!, triggers: [], examples: ['אני משלם פחות היום'] }]
  const heard = (words: string) =>
    ofType(talk({ ...PROFILE, language: 'he', objections }).say('customer', words), 'objection').length
  assert.equal([heard('אני היום משלם פחות'), heard('אני לא משלם פחות היום'), heard('היום אני בבית')], [1, 0, 0])
})

test('a knowledge card is shown above kb.min_score, and never the same one twice', () => {
  const call = talk()
  const passages = [
    { id: 'kbp_1', documentId: 'kbd_1', text: 'We open at nine.', score: 0.8 },
    { id: 'kbp_2', documentId: 'kbd_1', text: 'Parking is free.', score: 0.3 },
  ]
  const ask = (id: string) =>
    call.give({
      kind: 'said',
      atMs: 0,
      id,
      party: 'customer',
      text: 'when do you open',
      isFinal: true,
      fromMs: 0,
      toMs: 0,
      passages,
    })
  assert.equal(
    ofType(ask('a'), 'card').map(({ body }) => body.passage_id),
    ['kbp_1'],
  )
  assert.equal(ofType(ask('b'), 'card'), [])
})

test('a required disclosure that is not said in time is reminded of, then an alert', () => {
  const call = talk()
  call.say('agent', 'Hello')
  const at = (messages: Outgoing[]) =>
    messages
      .filter(({ type, body }) => (type === 'compliance' || type === 'alert') && body.kind !== 'silence')
      .map(({ body }) => body.status ?? body.kind)
  assert.equal(at(call.wait(57)), [])
  assert.equal(at(call.wait(3)), ['reminded'])
  assert.equal(at(call.wait(40)), ['missed', 'missed_disclosure'])
  assert.equal(
    call.notices.map(({ alert }) => alert.key),
    ['told'],
  )
})

test('a required disclosure that is said is told so, and never reminded of', () => {
  const call = talk()
  assert.is(
    ofType(call.say('agent', 'Just so you know, this call is being recorded.'), 'compliance')[0]?.body.status,
    'said',
  )
  assert.equal(ofType(call.wait(120), 'compliance'), [])
})

test('supervisors are told of an alert once its words are final, and not of one that was withdrawn', () => {
  const call = talk()
  call.say('customer', 'I want to cancel my contract', { id: 'a', isFinal: false })
  assert.equal([ofType(call.messages, 'alert').length, call.notices.length], [1, 0])
  call.say('customer', 'I want to cancel my contract', { id: 'a' })
  assert.is(call.notices.length, 1)
  call.say('customer', 'let me speak to your manager', { id: 'b', isFinal: false })
  call.give({ kind: 'unsaid', atMs: 0, id: 'b' })
  call.say('customer', 'hello there')
  assert.is(call.notices.length, 1)
})

test('a customer who asks for a supervisor is an alert, and an agent who speaks of one is none', () => {
  const call = talk()
  call.say('agent', 'You may speak to my colleague. I will put you through to a supervisor.')
  assert.equal(ofType(call.messages, 'alert'), [])
  call.say('customer', 'Get your manager on the line.')
  assert.equal(
    ofType(call.messages, 'alert').map(({ body }) => body.key),
    ['boss'],
  )
})

test('an alert with a threshold comes with the time that makes it enough', () => {
  const call = talk()
  assert.equal(ofType(call.say('agent', 'we guarantee it'), 'alert'), [])
  assert.is(ofType(call.say('agent', 'yes we guarantee that'), 'alert')[0]?.body.key, 'twice')
})

test('an angry customer changes the mood, and is an alert once', () => {
  const call = talk()
  for (let i = 0; i < 6; i++) call.say('customer', 'This is really terrible and I am very angry')
  assert.is(ofType(call.messages, 'sentiment').at(-1)?.body.mood, 'negative')
  assert.is(ofType(call.messages, 'alert').filter(({ body }) => body.key === 'mood').length, 1)
})

test('silence and a monologue are nudged once while they last, and withdrawn when they are over', () => {
  const call = talk()
  call.say('customer', 'Well')
  const silence = ofType(call.wait(30), 'nudge')
  assert.equal(
    silence.map(({ body, withdraws }) => [body.kind, withdraws]),
    [['silence', null]],
  )
  assert.is(ofType(call.say('customer', 'I am back again'), 'nudge')[0]?.withdraws, silence[0]?.seq)
  for (let i = 0; i < 20; i++) call.say('agent', 'and then there is more that I would like to say', { ms: 4000 })
  const kinds = ofType(call.messages, 'nudge').map(({ body }) => body.kind)
  assert.is(kinds.filter(kind => kind === 'monologue').length, 1)
  assert.is(kinds.filter(kind => kind === 'talk_ratio').length, 1)
})

test('nobody is to be heard on hold or in a card payment: that is no silence', () => {
  const call = talk()
  call.say('customer', 'One moment')
  for (let s = 0; s < 60; s++) call.give({ kind: 'tick', atMs: call.at() + s * 1000, isQuiet: true })
  assert.equal(ofType(call.messages, 'nudge'), [])
})

test('a figure that lingers at its limit does not flicker', () => {
  const call = talk({
    ...PROFILE,
    coaching: { ...PROFILE.coaching, talk_ratio_max: 0.5, silence_seconds_max: 1000, wpm_min: 0 },
    // By the coaching's own limit.
    alerts: [{ ...PROFILE.alerts[0]!, key: 'talks', kind: 'talk_ratio', threshold: 0 }],
  })
  for (let i = 0; i < 40; i++) {
    call.say('agent', 'one two three four five', { ms: i % 2 === 0 ? 2100 : 1900 })
    call.say('customer', 'one two three four five', { ms: 2000 })
  }
  assert.ok(ofType(call.messages, 'nudge').filter(({ body }) => body.kind === 'talk_ratio').length <= 1)
  assert.is(ofType(call.messages, 'alert').filter(({ body }) => body.key === 'talks').length, 1)
})

test('a missed disclosure counts as often as the threshold of its alert says, and what has not begun does not last', () => {
  const [told] = PROFILE.alerts.filter(({ kind }) => kind === 'missed_disclosure')
  const [recorded] = PROFILE.compliance.required_disclosures
  const alerts = [
    { ...told!, threshold: 2 },
    { ...told!, key: 'both', kind: 'compliance' as const, threshold: 3 },
    { ...told!, key: 'still', kind: 'silence' as const },
    { ...told!, key: 'long', kind: 'monologue' as const },
  ]
  const compliance = {
    ...PROFILE.compliance,
    required_disclosures: [recorded!, { ...recorded!, key: 'price', within_seconds: 100 }],
  }
  const coaching = { ...PROFILE.coaching, silence_seconds_max: 0, monologue_seconds_max: 0 }
  const call = talk({ ...PROFILE, alerts, compliance, coaching })
  const shown = (messages: Outgoing[]) => ofType(messages, 'alert').map(({ body }) => body.key)
  assert.equal(shown(call.give({ kind: 'tick', atMs: 0, isQuiet: true })), [])
  assert.equal(shown(call.wait(95)), ['still'], 'one was missed, and nothing was said')
  assert.equal(shown(call.wait(40)), ['told'], 'two were missed')
  assert.ok(
    shown(call.say('agent', 'we guarantee it')).includes('both'),
    'two were missed, and something forbidden said',
  )
  assert.equal(
    call.notices.map(({ alert }) => alert.key),
    ['still', 'told', 'both', 'long'],
  )
})

test('every kind of alert that a profile allows is told, and to supervisors where they are to know', () => {
  const own = PROFILE.alerts[0]!
  const kinds = [
    'phrase',
    'silence',
    'talk_ratio',
    'monologue',
    'sentiment',
    'missed_disclosure',
    'forbidden_phrase',
  ] as const
  const all = [...kinds, 'compliance', 'customer_asks_for_supervisor'] as const
  const alerts = all.map(kind => ({ ...own, key: kind, kind, threshold: 0 }))
  const call = talk({
    ...PROFILE,
    alerts,
    coaching: { ...PROFILE.coaching, monologue_seconds_max: 60, talk_ratio_max: 0.6 },
  })
  call.say('customer', 'I want to cancel my contract, get me your manager, this is terrible, awful and horrible')
  call.say('customer', 'it is terrible and awful')
  call.say('agent', 'we guarantee it')
  call.say('agent', Array.from({ length: 200 }, (_, i) => `word${i}`).join(' '), { ms: 90_000 })
  call.wait(20)
  const told = ofType(call.messages, 'alert').map(({ body }) => [body.kind, body.severity])
  assert.equal(new Set(told.map(([kind]) => kind)), new Set(all))
  assert.ok(told.every(([, severity]) => severity === own.severity))
  assert.equal(new Set(call.notices.map(({ alert }) => alert.kind)), new Set(all))
})

test('a warning of the beginning of a long call is still there at its end, and can be put away', () => {
  const call = talk()
  const [alert] = ofType(call.say('customer', 'I want to cancel my contract'), 'alert')
  for (let i = 0; i < 700; i++) call.say(i % 2 === 0 ? 'agent' : 'customer', `we go on with number ${i}`)
  const [gone] = call.give({ kind: 'dismiss', atMs: 0, seq: alert?.seq ?? 0 })
  assert.is(gone?.withdraws, alert?.seq)
})

test('what is shown at the same time has an end: of too many warnings the oldest are withdrawn, none is forgotten on the desktop', () => {
  const call = talk()
  for (let i = 0; i < 400; i++) call.say('agent', 'we guarantee it')
  const warnings = ofType(call.messages, 'compliance').filter(({ body }) => body.kind === 'forbidden_phrase')
  const gone = new Set(call.messages.flatMap(({ withdraws }) => withdraws ?? []))
  const shown = warnings.filter(({ seq }) => !gone.has(seq)).map(({ seq }) => seq)
  const held = Object.values(call.state().slots).flatMap(({ told }) => told?.seq ?? [])
  assert.ok(shown.length >= 50 && shown.length <= 100, `${shown.length}`)
  assert.ok(shown.every(seq => held.includes(seq)))
})

test('an alert that the agent has put away before its words were final reaches supervisors all the same', () => {
  const call = talk()
  const [alert] = ofType(call.say('customer', 'I want to cancel my contract', { id: 'a', isFinal: false }), 'alert')
  call.give({ kind: 'dismiss', atMs: 0, seq: alert?.seq ?? 0 })
  call.say('customer', 'I want to cancel my contract', { id: 'a' })
  assert.equal(
    call.notices.map(({ seq, alert: { key } }) => [seq, key]),
    [[alert?.seq, 'cancel']],
  )
})

test('what was dismissed is gone, and does not come back for the same words', () => {
  const call = talk()
  const [objection] = ofType(call.say('customer', 'it is too expensive', { id: 'a', isFinal: false }), 'objection')
  const [gone] = call.give({ kind: 'dismiss', atMs: 0, seq: objection?.seq ?? 0 })
  assert.is(gone?.withdraws, objection?.seq)
  assert.equal(ofType(call.say('customer', 'it is too expensive', { id: 'a' }), 'objection'), [])
})

test.run()
