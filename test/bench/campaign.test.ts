import * as assert from 'uvu/assert'
import type { SeenCall } from '../../bench/campaign/far-end.ts'
import { reconcile, type ShownAttempt, type Whole } from '../../bench/campaign/reconcile.ts'
import { suite } from '../harness.ts'

const test = suite('bench/campaign')

const AT = Date.parse('2026-11-23T10:00:00.000Z')
const time = (ms: number): string => new Date(AT + ms).toISOString()
const [ANN, BOB] = ['+972531000000', '+972531000001']

const seen = (phone: string, from: number, to: number, more: Partial<SeenCall> = {}): SeenCall => ({
  ...{
    phone,
    from: '',
    kind: 'person',
    invitedAt: AT + from,
    invitedAfter: AT + from - 1,
    answeredAt: AT + from,
    endedAt: AT + to,
    heardAt: null,
    packets: 1,
  },
  ...more,
})
const attempt = (phone: string, from: number, to: number, more: Partial<ShownAttempt> = {}): ShownAttempt => ({
  ...{ phone, number: 1, result: 'answered', started_at: time(from), answered_at: time(from), ended_at: time(to) },
  ...more,
})
const contact = (phone: string) => ({
  ...{ phone, status: 'completed', attempts: 1, last_result: 'answered', next_attempt_at: null },
})

/** Two contacts, called one after the other, each once. */
const whole = (): Whole => ({
  contacts: [contact(ANN), contact(BOB)],
  attempts: [attempt(ANN, 0, 1000), attempt(BOB, 2000, 3000)],
  seen: [seen(ANN, 10, 990), seen(BOB, 2010, 2990)],
  asleep: new Set(),
  blocked: new Set(),
  bounds: {
    ...{ maxAttempts: 1, perNumber: 1, maxConcurrent: 1, callsPerSecond: 1, trunkPerSecond: 1, ledByAgents: false },
  },
})

test('books that agree have no fault', () => {
  const { figures, problems } = reconcile(whole())
  assert.equal(problems, [])
  assert.equal([figures.invites, figures.atOnce, figures.inOneSecond, figures.neverLeft], [2, 1, 1, 0])
})

test('INVITEs that were read together after the far end was busy may have come apart', () => {
  const books = whole()
  Object.assign(books.seen[0]!, { invitedAfter: AT - 200 })
  Object.assign(books.seen[1]!, { invitedAt: AT + 900, invitedAfter: AT + 890 })
  const { figures, problems } = reconcile(books)
  assert.equal([figures.inOneSecond, figures.surelyInOneSecond], [2, 1])
  assert.not.ok(problems.some(problem => problem.includes('INVITEs came')))
})

const FAULTS: Record<string, (books: Whole) => void> = {
  'have no outcome': ({ contacts }) => (contacts[0]!.status = 'pending'),
  'belong to no attempt': ({ seen: calls }) => calls.push(seen(ANN, 5000, 6000)),
  'had more than one INVITE': ({ seen: calls }) => calls.push(seen(ANN, 100, 900)),
  'called twice at once': ({ seen: calls }) => calls.push(seen(BOB, 2500, 2900)),
  'more often than their cap': ({ seen: calls }) => calls.push(seen(BOB, 9000, 9900)),
  'that are no contacts': ({ seen: calls }) => calls.push(seen('+972531000009', 9000, 9900)),
  'other attempts than they say': ({ attempts }) => attempts.push(attempt(ANN, 5000, 6000)),
  'are not over': ({ attempts }) => (attempts[0]!.result = null),
  'another result than their call': ({ attempts }) => (attempts[0]!.result = 'busy'),
  'called at night': ({ asleep }) => asleep.add(ANN),
  'do-not-call list were called': ({ blocked }) => blocked.add(ANN),
  'calls were at once': ({ seen: calls }) => (calls[0]!.endedAt = AT + 2500),
  'INVITEs came in one second': ({ seen: calls }) =>
    Object.assign(calls[1]!, { invitedAt: AT + 900, invitedAfter: AT + 890 }),
  'attempts were begun in one second': ({ attempts }) => {
    for (let n = 0; n < 3; n++) attempts.push(attempt(ANN, 10 * n, 1000))
  },
}

for (const [fault, spoil] of Object.entries(FAULTS)) {
  test(`a fault is found: ${fault}`, () => {
    const books = whole()
    spoil(books)
    const { problems } = reconcile(books)
    assert.ok(
      problems.some(problem => problem.includes(fault)),
      problems.join('\n'),
    )
  })
}

test.run()
