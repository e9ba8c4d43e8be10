import * as assert from 'uvu/assert'
import type { Line } from '../../../media/signalling/line.ts'
import { Transfers } from '../../../media/signalling/transfers.ts'
import { UserAgent } from '../../../sip/user-agent.ts'
import { suite } from '../../harness.ts'

const test = suite('media/signalling/transfers')
const BY = 'sip:+4930111@trunk.example'
const TO = { uri: 'sip:+4930222@trunk.example', hosts: [], publicOnly: false, credentials: null }

/** Lets a far end ask for a transfer. `told`: the Referred-By that a called party, or another far end that is asked in turn, gets. */
function asked(line: Partial<Line>) {
  const told: unknown[] = []
  const asker = { legId: 'one', sessionId: 's1', state: 'answered', endReason: null, isPrivate: false, ...line } as Line
  const other = { ...asker, legId: 'two', sessionId: 's2', isPrivate: false }
  let referId = ''
  const agent = new UserAgent({ name: 'Tandem', local: () => ({ host: '192.0.2.1', port: 5060 }), random: () => 'r' })
  agent.refer = (_, { referredBy }) => {
    told.push(referredBy)
    return { referId: 'theirs', actions: [] }
  }
  const transfers = new Transfers({
    lines: {
      emit: (_: string, event: { referId: string }) => (referId = event.referId),
      get: (legId: string) => (legId === 'two' ? other : asker),
    } as never,
    replacing: {
      call: (_: Line, { targets }: { targets: { referredBy?: string }[] }) =>
        told.push(...targets.map(target => target.referredBy)),
    } as never,
    sip: () => ({ do: (use: (agent: UserAgent, now: number) => unknown) => use(agent, 0) }) as never,
  })
  transfers.asked(asker, {
    kind: 'refer',
    sessionId: 's1',
    referId: 'sip',
    to: TO.uri,
    replaces: null,
    userToUser: null,
    referredBy: BY,
  })
  return { transfers, referId, told }
}

for (const [who, isPrivate] of [
  ['whoever has asked', false],
  ['nobody, if its caller is private (RFC 3323)', true],
] as const) {
  test(`RFC 3892 §2.1: whom it calls for a far end hears that ${who} has asked for it`, () => {
    const { transfers, referId, told } = asked({ isPrivate })
    const target = { ...TO, from: { uri: BY }, codecs: [] } as never
    const request = { legId: 'one', referId, target, alternatives: [target], timeoutS: 1 }
    assert.equal(transfers.bridge(request), {})
    assert.equal(told, isPrivate ? [undefined, undefined] : [`<${BY}>`, `<${BY}>`])
  })

  test(`RFC 3892 §2.1: a far end that is to call for another hears that ${who} has asked for it`, () => {
    const { transfers, referId, told } = asked({ isPrivate })
    transfers.answer({ legId: 'one', referId, sipCode: 202 })
    assert.equal(transfers.refer({ legId: 'two', referId, to: TO.uri, inPlaceOf: null }), {})
    transfers.refer({ legId: 'two', referId: 'our own', to: TO.uri, inPlaceOf: null })
    assert.equal(told, [isPrivate ? null : BY, null])
  })
}

test.run()
