import { isDeepStrictEqual } from 'node:util'
import * as assert from 'uvu/assert'
import { sentencesOf } from '../../../control/copilot/fast/objections.ts'
import { reduce } from '../../../control/copilot/fast/reduce.ts'
import { keyOf, kindOf, valueOfSlot } from '../../../control/copilot/fast/slots.ts'
import { stageOf } from '../../../control/copilot/fast/stages.ts'
import { type CopilotInput, type CopilotState, newState, type Outgoing } from '../../../control/copilot/fast/state.ts'
import { suite } from '../../harness.ts'
import { PROFILE } from './profiles.ts'

const test = suite('control/copilot/fast-path-model')

const SENTENCES = [
  'thank you for calling',
  'your account number please',
  'account lumber',
  'how can I help you today',
  'have a nice day',
  'it is too expensive for us',
  'we guarantee it',
  'this call is recorded',
  'I want to cancel my contract',
  'let me speak to your manager',
  'my name is Ann Smith',
  'call me on four one five five five five oh one two three',
  'mail me at ann at example dot com',
  'premium plus please',
  'basic',
  'no',
  'AB 1234',
  'this is terrible and awful',
  'thanks that is great',
  '',
]

/** Words without which nothing of the kind was said. */
const NEEDED: Record<string, RegExp> = {
  'item:open/greet': /thank you for calling/,
  'item:open/verify': /account (?:n|l)umber/,
  'item:need/reason': /how can I help you/,
  'item:close/goodbye': /have a nice day/,
  'field:plan': /premium|basic/,
  'field:email': /ann at example/,
  'field:order': /AB 1234/,
  'alert:cancel': /cancel/,
}

/** Numbers by a seed: a run that fails is run again. */
function random(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** The simplest desktop: what it shows by number, as messages say. */
class Desktop {
  readonly shown = new Map<number, Outgoing>()
  readonly gone = new Set<number>()
  #last = 0

  take(message: Outgoing): void {
    assert.is(message.seq, this.#last + 1, 'numbers have no gap and none comes twice')
    this.#last = message.seq
    for (const other of [message.replaces, message.withdraws]) {
      if (other === null) continue
      assert.ok(this.shown.has(other), `${other} is replaced or withdrawn and is not shown`)
      this.shown.delete(other)
      this.gone.add(other)
    }
    if (message.withdraws === null) this.shown.set(message.seq, message)
  }
}

/** What was said, by utterance, as it is known now; null: it was nothing. */
type Words = Map<string, string | null>

/** What is final stays so, but for a number that is shown otherwise. */
function note(words: Words, finals: Set<string>, input: CopilotInput): void {
  if (input.kind === 'unsaid') words.set(input.id, null)
  if (input.kind !== 'said' || (finals.has(input.id) && input.again === undefined)) return
  words.set(input.id, input.text)
  if (input.isFinal) finals.add(input.id)
}

/** Everything that was heard stands on words that were said, as they are now. */
function checkWords(state: CopilotState, words: Words): void {
  for (const [name, { claims, told }] of Object.entries(state.slots)) {
    if (told !== null && kindOf(name) === 'transcript') {
      assert.is((JSON.parse(told.value) as [string])[0], words.get(keyOf(name)) ?? '', 'other words are shown')
    }
    for (const { by, utterances, value } of claims) {
      if (by !== 'heard' || name === 'stage:') continue
      assert.ok(utterances.length > 0, `${name} is ${value} by words of nobody`)
      for (const id of utterances) {
        const said = words.get(id) ?? null
        const needed = NEEDED[name]
        // Messages are made for what is wrong only: there are hundreds of thousands of checks.
        if (said === null) assert.unreachable(`${name} is ${value} by ${id}, which was nothing`)
        else if (needed !== undefined) assert.match(said, needed, `${name} is ${value}`)
      }
    }
  }
}

function check(state: CopilotState, desktop: Desktop, decided: ReadonlyMap<string, string | null>): void {
  const told = new Set<number>()
  for (const [name, slot] of Object.entries(state.slots)) {
    const [shown, value] = [slot.told?.value ?? null, valueOfSlot(slot)]
    if (shown !== value && kindOf(name) !== 'chosen_stage' && name !== 'chosen_stage')
      assert.is(shown, value, `what is told of ${name} is not what it is`)
    if (slot.told === null) continue
    told.add(slot.told.seq)
    if (desktop.gone.has(slot.told.seq))
      assert.unreachable(`${name} stands in the state, and its message was withdrawn`)
    if (!desktop.shown.has(slot.told.seq)) assert.unreachable(`${name} stands in the state and was told to nobody`)
  }
  for (const [seq, { type, body }] of desktop.shown) {
    const isFact = type === 'checklist' || type === 'field' || type === 'stage' || type === 'nudge'
    if (isFact && !told.has(seq)) assert.unreachable(`${type} ${String(body.key)} is shown and stands in no state`)
  }
  for (const [name, value] of decided) {
    assert.is(valueOfSlot(state.slots[name]), value, `a person decided ${name}`)
  }
  assert.is(state.slots['stage:']?.told?.value ?? null, stageOf(state, PROFILE))
}

test(
  'ten thousand random utterances never make the state contradict itself or what was told',
  () => {
    const pick = random(20261122)
    for (let call = 0; call < 83; call++) {
      let state = newState('2026-11-22T10:00:00.000Z')
      const desktop = new Desktop()
      const decided = new Map<string, string | null>()
      const open: { id: string; party: 'agent' | 'customer' }[] = []
      const [words, finals]: [Words, Set<string>] = [new Map(), new Set()]
      let at = 0
      // One of them is long.
      const steps = call === 0 ? 1800 : 100
      for (let step = 0; step < steps; step++) {
        at += pick(4000)
        const input = next(pick, { state, at, open, decided, finals, id: `u${call}.${step}` })
        note(words, finals, input)
        const isLookedAt = step % 8 === 0
        const frozen = isLookedAt ? structuredClone(state) : null
        const outcome = reduce(state, PROFILE, input)
        if (isLookedAt) {
          assert.ok(isDeepStrictEqual(state, frozen), 'the state that was given has changed')
          assert.ok(isDeepStrictEqual(reduce(state, PROFILE, input), outcome), 'the same input gives another output')
        }
        for (const message of outcome.messages) desktop.take(message)
        for (const [name, slot] of Object.entries(state.slots)) {
          if (valueOfSlot(slot) !== 'done' || kindOf(name) !== 'item') continue
          const isStill = valueOfSlot(outcome.state.slots[name]) === 'done'
          const isWithdrawn = outcome.messages.some(({ withdraws }) => withdraws === slot.told?.seq)
          assert.ok(isStill || isWithdrawn, `${keyOf(name)} was done, and is not, and nobody was told`)
        }
        state = outcome.state
        check(state, desktop, decided)
        checkWords(state, words)
        assert.ok(Object.keys(state.slots).length < 450, 'what is remembered of a call has no end')
      }
      assert.ok(JSON.stringify(state).length < 400_000, 'the state grows without bound')
    }
  },
  { timeoutMs: 120_000 },
)

interface Now {
  state: CopilotState
  at: number
  open: { id: string; party: 'agent' | 'customer' }[]
  decided: Map<string, string | null>
  /** Utterances that are final, in the order in which they became so. */
  finals: ReadonlySet<string>
  id: string
}

function next(pick: (below: number) => number, { state, at, open, decided, finals, id }: Now): CopilotInput {
  const atMs = at
  switch (pick(16)) {
    case 0:
      return { kind: 'tick', atMs, isQuiet: pick(3) === 0 }
    case 1: {
      const [stage, key] = (
        [
          ['open', 'greet'],
          ['open', 'verify'],
          ['close', 'goodbye'],
        ] as const
      )[pick(3)]!
      const isDone = pick(2) === 0
      decided.set(`item:${stage}/${key}`, isDone ? 'done' : null)
      return { kind: 'check', atMs, item: `${stage}/${key}`, done: isDone }
    }
    case 2: {
      const key = ['plan', 'name'][pick(2)]!
      const value = pick(3) === 0 ? null : 'premium'
      if (value === null) decided.delete(`field:${key}`)
      else decided.set(`field:${key}`, value)
      return { kind: 'field', atMs, key, value }
    }
    case 3:
      return pick(2) === 0
        ? { kind: 'stage', atMs, key: ['open', 'need', 'close'][pick(3)]! }
        : { kind: 'dismiss', atMs, seq: pick(state.seq + 1) }
    case 4: {
      const [dropped] = open.splice(pick(open.length + 1), 1)
      return dropped === undefined ? { kind: 'tick', atMs, isQuiet: false } : { kind: 'unsaid', atMs, id: dropped.id }
    }
    case 5: {
      const said = Object.entries(state.slots).filter(
        ([name, { told }]) => kindOf(name) === 'transcript' && told !== null,
      )
      const [name, slot] = said[pick(said.length + 1)] ?? []
      if (name === undefined || slot?.told == null) return { kind: 'tick', atMs, isQuiet: false }
      const [text] = JSON.parse(slot.told.value) as [string, boolean]
      const meant = Object.fromEntries(sentencesOf(text).map(one => [one, { key: 'price', similarity: pick(11) / 10 }]))
      return { kind: 'meant', atMs, id: keyOf(name), text, toMs: at, meant }
    }
    case 6: {
      const known = [
        'item:open/greet',
        'item:need/reason',
        'field:plan',
        'field:email',
        'item:none/such',
        'alert:cancel',
      ]
      const shown = Object.keys(state.slots).filter(name => kindOf(name) === 'objection')
      const verdicts = Array.from({ length: 1 + pick(3) }, () => {
        const slot = [...known, ...shown][pick(known.length + shown.length)]!
        const value = kindOf(slot) === 'objection' ? 'answered' : kindOf(slot) === 'item' ? 'done' : `deep ${pick(2)}`
        return { slot, value: pick(3) === 0 ? null : value, more: { answer: `${pick(3)}` } }
      })
      return { kind: 'judged', atMs, utterances: [], wordsEndMs: null, verdicts }
    }
    case 7:
      return { kind: 'asked', atMs, path: pick(2) === 0 ? 'fast' : 'deep', body: { question: 'When?', answer: 'Now.' } }
    case 8: {
      // A number that was held back is shown, or one that was shown is taken back.
      const said = Object.entries(state.slots).filter(
        ([name]) => kindOf(name) === 'transcript' && finals.has(keyOf(name)),
      )
      const [name, slot] = said[pick(said.length + 1)] ?? []
      if (name === undefined) return { kind: 'tick', atMs, isQuiet: true }
      const party = slot?.more?.party as 'agent' | 'customer'
      const text = SENTENCES[pick(SENTENCES.length)]!
      const again = { becauseMs: pick(2) === 0 ? null : at }
      return { kind: 'said', atMs, id: keyOf(name), party, text, isFinal: true, fromMs: 0, toMs: 0, again }
    }
    case 9: {
      // Too late: it is over.
      const last = [...finals].at(-1)
      if (last === undefined) return { kind: 'tick', atMs, isQuiet: true }
      return {
        ...{ kind: 'said', atMs, id: last, party: 'agent', text: SENTENCES[pick(SENTENCES.length)]! },
        ...{ isFinal: pick(2) === 0, fromMs: atMs, toMs: atMs },
      }
    }
    default: {
      const old = pick(2) === 0 ? open[pick(open.length + 1)] : undefined
      const said = old ?? { id, party: pick(2) === 0 ? ('agent' as const) : ('customer' as const) }
      const isFinal = pick(2) === 0
      const at = open.indexOf(said)
      if (isFinal && at >= 0) open.splice(at, 1)
      else if (!isFinal && at < 0) open.push(said)
      const text = `${SENTENCES[pick(SENTENCES.length)]} ${pick(3) === 0 ? SENTENCES[pick(SENTENCES.length)] : ''}`
      const passages = [{ id: `kbp_${pick(5)}`, documentId: 'kbd_1', text: 'It is so.', score: pick(10) / 10 }]
      return { kind: 'said', atMs, ...said, text, isFinal, fromMs: atMs - 500, toMs: atMs, passages }
    }
  }
}

test.run()
