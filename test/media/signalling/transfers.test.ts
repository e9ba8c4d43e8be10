import * as assert from 'uvu/assert'
import type { Line } from '../../../media/signalling/line.ts'
import { Transfers } from '../../../media/signalling/transfers.ts'
import { UserAgent } from '../../../sip/user-agent.ts'
import { suite } from '../../harness.ts'
import { LocalMedia, RawPhone } from '../local-media.ts'

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

test('of a transfer too, a host that says nothing is given 4 s where there is another one', async () => {
  const media = await LocalMedia.open()
  const [asker, silent, next] = await Promise.all([RawPhone.open(media), RawPhone.open(media), RawPhone.open(media)])
  await asker.call()
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  const { legId } = media.of('leg.incoming')[0]!
  await media.answer(legId)
  await asker.expect('SIP/2.0 200')
  await asker.acknowledge()
  await asker.inside('REFER', 2, [`Contact: <sip:1000@127.0.0.1:${asker.port}>`, `Refer-To: <${TO.uri}>`])
  await media.engine.until(() => media.of('leg.refer_asked').length === 1)
  const { referId } = media.of('leg.refer_asked')[0]!
  const hosts = [silent, next].map(({ port }) => ({ host: '127.0.0.1', port, transport: 'udp' as const }))
  const target = { ...TO, hosts, from: { uri: BY }, codecs: ['PCMU' as const] }
  assert.equal(await media.run('leg.refer_bridge', { legId, referId, target, timeoutS: 30 }), {})
  await silent.expect('INVITE')
  await next.expect('INVITE')
  assert.is(silent.count('CANCEL'), 0, 'RFC 3261 §9.1: nothing was heard of it yet')
  await media.close()
  for (const phone of [asker, silent, next]) phone.close()
})

test.run()
