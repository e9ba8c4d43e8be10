import * as assert from 'uvu/assert'
import { hearPiece, type Pieces, releasePieces } from '../../../control/copilot/sessions/pieces.ts'
import { leastHeld, makeRedactor } from '../../../control/organisation/redaction/redactor.ts'
import { suite } from '../../harness.ts'

const test = suite('control/copilot/said-in-pieces')
const redact = makeRedactor({ card_numbers: true, identity_numbers: ['us_ssn'], patterns: [] })

interface Line {
  text: string
  id?: string
  isFinal?: boolean
  atMs?: number
}

/** What a customer says, one after the other, and everything that was shown of it, in its order. */
function hear(lines: readonly Line[], isDetail = (_text: string) => false, least?: number) {
  let pieces: Pieces = {}
  const told: [string, string][] = []
  const now = new Map<string, string>()
  const show = (id: string, text: string): void => {
    told.push([id, text])
    now.set(id, text)
  }
  for (const [i, { text, id = `u${i}`, isFinal = true, atMs = i * 1500 }] of lines.entries()) {
    const said = { kind: 'said', atMs, id, party: 'customer', text, isFinal, fromMs: atMs, toMs: atMs } as const
    const heard = hearPiece(pieces, redact, said, isDetail, least)
    pieces = heard.pieces
    for (const one of heard.earlier) show(one.piece.id, one.text)
    show(id, heard.text)
  }
  const pass = (atMs: number | null): void => {
    const { shown, pieces: left } = releasePieces(pieces, redact, atMs)
    pieces = left
    for (const one of shown) show(one.piece.id, one.text)
  }
  return { told, now, pass, pieces: () => pieces }
}

const texts = (lines: readonly string[]): Line[] => lines.map(text => ({ text }))

test('a number that ends what was said is held back until what comes next tells what it is', () => {
  const { told } = hear(texts(['It is 4111 1111', '1111 1111', 'that is my card']))
  assert.equal(told, [
    ['u0', 'It is […]'],
    ['u0', 'It is [card number]'],
    ['u1', '[card number]'],
    ['u2', 'that is my card'],
  ])
})

test('three digits or fewer are shown until the next ones make them part of a number; where a card is spoken of they never are', () => {
  const pieces = texts(['411', '111 11', '111 111 11', 'is my card'])
  assert.equal(hear(pieces).told, [
    ['u0', '411'],
    ['u0', '[…]'],
    ['u1', '[…]'],
    ['u0', '[card number]'],
    ['u1', '[card number]'],
    ['u2', '[card number]'],
    ['u3', 'is my card'],
  ])
  const shown = hear(pieces, undefined, leastHeld(['What is the number of your card?'])).told
  assert.equal(
    shown.filter(([, text]) => /\d/.test(text)),
    [],
  )
  const digitByDigit = hear(texts([...'4111111111111111']), undefined, 1).told
  assert.equal(
    digitByDigit.filter(([, text]) => /\d/.test(text)),
    [],
  )
})

test('it is shown when other words follow, and when nothing follows for a while', () => {
  const { told } = hear(texts(['I am in room 4321', 'on the left']))
  assert.equal(told.slice(1), [
    ['u0', 'I am in room 4321'],
    ['u1', 'on the left'],
  ])
  const late = hear(texts(['I am in room 4321']))
  late.pass(7999)
  assert.is(late.now.get('u0'), 'I am in room […]')
  late.pass(8000)
  assert.is(late.now.get('u0'), 'I am in room 4321')
})

test('what was shown because nothing followed is taken back when the number goes on after all', () => {
  const call = hear([{ text: 'It is 4111 1111' }])
  call.pass(9000)
  assert.is(call.now.get('u0'), 'It is 4111 1111')
  const [piece] = call.pieces().customer ?? []
  assert.is(piece?.text, 'It is 4111 1111')
  const { earlier, text } = hearPiece(
    call.pieces(),
    redact,
    {
      ...{ kind: 'said', atMs: 12_000, id: 'u1', party: 'customer', text: '1111 1111' },
      ...{ isFinal: true, fromMs: 12_000, toMs: 12_000 },
    },
    () => false,
  )
  assert.equal([earlier.map(one => one.text), text], [['It is [card number]'], '[card number]'])
})

test('words that may turn out to be others decide nothing of what was said before them', () => {
  const { told } = hear([
    { text: 'it is 4111 1111', id: 'a' },
    { text: 'for', id: 'b', isFinal: false },
    { text: '1111 1111', id: 'b' },
  ])
  assert.not.ok(told.some(([, text]) => text.includes('4111')))
})

test('an identity number in pieces is held back too, and a short number is not', () => {
  const { now } = hear(texts(['my social is 219 09', '9999', 'thanks']))
  assert.equal([...now.values()], ['my social is [identity number]', '[identity number]', 'thanks'])
  assert.is(hear(texts(['I want 12'])).now.get('u0'), 'I want 12')
})

test('the answer that was asked for is shown at once', () => {
  const { told } = hear(texts(['415 555 0123']), text => text.includes('415'))
  assert.equal(told, [['u0', '415 555 0123']])
})

/** Numbers that are the same on each run. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
const WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']
const CARDS = ['4580111122223333', '5555555555554444', '378282246310005', '4012888888881881']

/** The last digit is put right. */
function withCheckDigit(digits: string): string {
  for (let last = 0; last < 10; last++) {
    const whole = digits.slice(0, -1) + last
    const sum = [...whole].reverse().reduce((all, digit, i) => {
      const value = i % 2 === 0 ? Number(digit) : Number(digit) * 2
      return all + (value > 9 ? value - 9 : value)
    }, 0)
    if (sum % 10 === 0) return whole
  }
  throw new Error('no check digit')
}

test('of a card number that is said in whatever pieces no more than three digits are ever shown', () => {
  for (let seed = 1; seed <= 500; seed++) {
    const next = random(seed * 7919)
    const card = withCheckDigit(CARDS[seed % CARDS.length] ?? '')
    const isSpelled = next() < 0.5
    const lines: Line[] = []
    for (let at = 0; at < card.length; ) {
      const size = 1 + Math.floor(next() * 8)
      const piece = card.slice(at, at + size)
      at += size
      const said = isSpelled ? [...piece].map(digit => WORDS[Number(digit)]).join(' ') : piece
      const filler = next() < 0.3 ? 'uh ' : ''
      const id = `p${at}`
      const before = lines.length === 0 ? 'my number is ' : filler
      const half = said.slice(0, Math.max(1, Math.floor(said.length / 2)))
      if (next() < 0.5) lines.push({ text: before + half, id, isFinal: false })
      lines.push({ text: before + said, id })
    }
    lines.push({ text: 'did you get that', id: 'end' })
    const { told, now } = hear(lines)
    const shown = told.map(([, text]) => text.replaceAll(/[^\d]|\[.*?\]/g, '') || spelled(text))
    for (const [i, digits] of shown.entries()) assert.ok(digits.length <= 3, `seed ${seed}: ${digits} of ${told[i]}`)
    const left = [...now.values()].map(text => text.replaceAll(/\D/g, '') + spelled(text)).join('')
    assert.is(left, '', `seed ${seed} ${JSON.stringify(lines)} ${JSON.stringify(told)}`)
  }
})

const spelled = (text: string): string =>
  text
    .split(/\s+/)
    .filter(word => WORDS.includes(word))
    .map(word => WORDS.indexOf(word))
    .join('')

test.run()
