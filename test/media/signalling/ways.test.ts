import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import type { DialTarget } from '../../../media/protocol.ts'
import { type Refusal, Resting, type Way, Ways } from '../../../media/signalling/ways.ts'
import type { Destination, Peer } from '../../../sip/agent-types.ts'
import { suite } from '../../harness.ts'

const test = suite('media/signalling/ways')

const target = (host: string, more: Partial<DialTarget> = {}): DialTarget => ({
  uri: `sip:+15550100@${host}`,
  from: { uri: 'sip:+15550199@example.com' },
  hosts: [],
  publicOnly: true,
  credentials: { username: 'u', password: 'p' },
  codecs: ['PCMU'],
  ...more,
})
const host = (name: string) => ({ host: name, port: 5060, transport: 'udp' as const })
const refusal = (status: number, more: Partial<Refusal> = {}): Refusal => ({
  ...{ status, origin: 'remote', retryAfterS: null, contacts: [], redirects: [] },
  ...more,
})
const SIGNED = { attestation: 'A', from: '15550199', to: '15550100', origId: 'o1' } as const
const SILENT = refusal(408, { origin: 'local' })

function scene(
  targets: DialTarget[],
  zone: Record<string, string[]> = {},
  now = () => 0,
  mayBe: (uri: string) => boolean = () => true,
  silentMs = 0,
) {
  const located: Destination[] = []
  const resting = new Resting(now)
  const locate = async (to: Destination): Promise<Peer[]> => {
    located.push(to)
    if (to.host === 'dead') await sleep(silentMs)
    return (zone[to.host] ?? [to.host]).map(address => ({ transport: 'udp', host: address, port: to.port ?? 5060 }))
  }
  const ways = () =>
    new Ways({
      targets,
      patienceMs: 20,
      locate,
      resting,
      mayCall: async (_by, to) => ({ to: to.filter(mayBe), reason: 'redirect_refused' }),
    })
  return { ways, located, resting }
}

/** The destinations that are tried one after the other if each attempt ends with `outcome`. */
async function tries(ways: Ways, outcome: (way: Way) => Refusal): Promise<string[]> {
  const tried: string[] = []
  for (let way = await ways.next(); way !== null; way = await ways.next()) {
    tried.push(way.peer.host)
    if (!ways.mayGoOn(way, outcome(way))) break
  }
  return tried
}

test('a call with a route of its registrar goes to the first proxy of it (RFC 3608 §6.1)', async () => {
  const route = ['<sip:edge;lr>', '<sip:core;lr>']
  const { ways } = scene([target('x', { route }), target('y', { route, hosts: [host('via')] })])
  assert.equal(await tries(ways(), () => SILENT), ['edge', 'via'])
})

test('target by target, host by host, address by address; each is looked up when its turn comes', async () => {
  const first = target('x', { hosts: [host('a'), host('b')] })
  const { ways, located } = scene([first, target('c')], { a: ['1', '2'], b: ['3'], c: ['4'] })
  const one = ways()
  assert.is((await one.next())?.peer.host, '1')
  assert.is(located.length, 1)
  assert.equal(await tries(one, () => SILENT), ['2', '3', '4'])
  assert.ok(located.every(to => to.publicOnly === true))
})

test('silent name servers hold no call up that has another host; where all names are silent they are awaited', async () => {
  const silent = scene(
    [target('x', { hosts: [host('dead'), host('a')] }), target('dead')],
    {},
    () => 0,
    () => true,
    60,
  )
  assert.equal(await tries(silent.ways(), () => SILENT), ['a', 'dead', 'dead'])
  assert.equal(
    silent.located.map(({ host }) => host),
    ['dead', 'a', 'dead', 'dead', 'dead'],
  )
  const alone = scene(
    [target('dead')],
    {},
    () => 0,
    () => true,
    60,
  )
  assert.equal(await tries(alone.ways(), () => SILENT), ['dead'])
  assert.is(alone.located.length, 1)
})

test('the next one is tried after 503, no answer and no connection, and after nothing else', async () => {
  const targets = [target('a'), target('b')]
  assert.equal(await tries(scene(targets).ways(), () => refusal(503)), ['a', 'b'])
  assert.equal(await tries(scene(targets).ways(), () => SILENT), ['a', 'b'])
  assert.equal(await tries(scene(targets).ways(), () => refusal(503, { origin: 'local' })), ['a', 'b'])
  for (const status of [404, 408, 480, 486, 500, 603]) {
    assert.equal(await tries(scene(targets).ways(), () => refusal(status)), ['a'], String(status))
  }
})

test('a target says itself after which causes the next one is tried', async () => {
  const targets = [target('a', { tryNextOn: [486, 500] }), target('b')]
  assert.equal(await tries(scene(targets).ways(), () => refusal(486)), ['a', 'b'])
  assert.equal(await tries(scene(targets).ways(), () => refusal(503)), ['a'])
})

test('a host that was of no use is tried last by the calls after it, for as long as it says', async () => {
  let now = 1
  const targets = [target('x', { hosts: [host('a'), host('b')] })]
  const { ways } = scene(targets, {}, () => now)
  await tries(ways(), way => (way.peer.host === 'a' ? refusal(503, { retryAfterS: 60 }) : refusal(486)))
  assert.equal(await tries(ways(), () => SILENT), ['b', 'a'])
  now += 61_000
  assert.equal(await tries(ways(), () => refusal(486)), ['a'])
})

test('a host that answers again is as good as any', async () => {
  const targets = [target('x', { hosts: [host('a'), host('b')] })]
  const { ways, resting } = scene(targets)
  const call = ways()
  const first = (await call.next())!
  call.mayGoOn(first, SILENT)
  assert.ok(resting.has(first.peer))
  call.heard(first)
  assert.equal(await tries(ways(), () => refusal(486)), ['a'])
})

test('a redirection is followed where the target allows it, without our password, and held to the same addresses', async () => {
  const moved = refusal(302, { contacts: ['sip:bob@m', 'mailto:bob@a', 'sip:bob@n'] })
  const { ways, located } = scene([target('a', { followRedirects: true })])
  const call = ways()
  const outcome = ({ peer, target: { credentials } }: Way): Refusal => {
    assert.is(credentials === null, peer.host !== 'a')
    return peer.host === 'a' ? moved : refusal(503)
  }
  assert.equal(await tries(call, outcome), ['a', 'm', 'n'])
  assert.ok(located.every(to => to.publicOnly === true))
  assert.equal(await tries(scene([target('a')]).ways(), () => moved), ['a'])
})

test('where a contact of a redirection is refused the next is tried, until a 6xx; no other address of it, and no other target (RFC 3261 §8.1.3.4)', async () => {
  const moved = refusal(302, { contacts: ['sip:bob@m', 'sip:bob@n', 'sip:bob@o'] })
  const { ways } = scene([target('a', { followRedirects: true }), target('b')], { m: ['m1', 'm2'] })
  const outcome =
    (status: number) =>
    ({ peer }: Way): Refusal =>
      peer.host === 'a' ? moved : refusal(peer.host === 'n' ? status : 486)
  assert.equal(await tries(ways(), outcome(404)), ['a', 'm1', 'n', 'o'])
  assert.equal(await tries(ways(), outcome(603)), ['a', 'm1', 'n'])
})

test('a number that a redirection names (`tel:`) is called at the same far end, with our password', async () => {
  const moved = refusal(302, { contacts: ['sip:bob@m', 'tel:+1-555-0177', 'tel:+1-555-0178'] })
  const { ways } = scene([target('x:5070;transport=tcp', { hosts: [host('a')], followRedirects: true })])
  const called: unknown[] = []
  await tries(ways(), ({ peer, target: { uri, credentials } }) => {
    called.push([peer.host, uri, credentials !== null])
    return called.length === 1 ? moved : refusal(503)
  })
  assert.equal(called, [
    ['a', 'sip:+15550100@x:5070;transport=tcp', true],
    ['m', 'sip:bob@m', false],
    ['a', 'sip:+15550177@x:5070;transport=tcp', true],
    ['a', 'sip:+15550178@x:5070;transport=tcp', true],
  ])
})

test('who is named and may not be called is not; when nobody may be, the call is over, and goes over no other target', async () => {
  const moved = refusal(302, { contacts: ['sip:bob@m', 'sip:bob@n'] })
  const targets = [target('a', { followRedirects: true, tryNextOn: [302, 503] }), target('b')]
  const outcome = ({ peer }: Way): Refusal => (peer.host === 'a' ? moved : refusal(503))
  const some = scene(targets, {}, undefined, uri => uri.endsWith('n')).ways()
  assert.equal([await tries(some, outcome), some.refusal], [['a', 'n', 'b'], null])
  const none = scene(targets, {}, undefined, () => false).ways()
  assert.equal([await tries(none, outcome), none.refusal], [['a'], 'redirect_refused'])
})

test('where a contact sends on to nobody who may be called, the next contact is, and no other target', async () => {
  const contacts = { a: ['sip:bob@m', 'sip:bob@n'], m: ['sip:bob@forbidden'] }
  const targets = [target('a', { followRedirects: true }), target('b')]
  const outcome = ({ peer }: Way): Refusal => {
    const to = contacts[peer.host as 'a' | 'm']
    return to === undefined ? refusal(503) : refusal(302, { contacts: to })
  }
  const { ways } = scene(targets, {}, undefined, uri => !uri.endsWith('forbidden'))
  const call = ways()
  assert.equal([await tries(call, outcome), call.refusal], [['a', 'm', 'n'], 'redirect_refused'])
})

test('a redirected call is signed for the number that it goes to, and not at all where that is none (RFC 8224 §4.1)', async () => {
  const forms = { form: 'asserted', redirectForm: 'none' } as const
  const identity = { ...forms, caller: null, isPrivate: false, redirects: [], sign: SIGNED }
  const { ways } = scene([target('a', { identity, followRedirects: true })])
  const signed: unknown[] = []
  await tries(ways(), ({ peer, target: { identity: said } }) => {
    signed.push(said!.sign?.to)
    return peer.host === 'a' && signed.length === 1
      ? refusal(302, { contacts: ['sip:+15550177@m', 'sip:bob@n'] })
      : refusal(503)
  })
  assert.equal(signed, [SIGNED.to, '15550177', undefined])
})

test('a call that may go on to nobody who was named is not placed over a host that was passed over before, either', async () => {
  const targets = [target('rests'), target('a', { followRedirects: true })]
  const { ways, resting } = scene(targets, {}, undefined, () => false)
  resting.add({ transport: 'udp', host: 'rests', port: 5060 }, SILENT)
  const outcome = (): Refusal => refusal(302, { contacts: ['sip:bob@m'] })
  assert.equal(await tries(ways(), outcome), ['a'])
})

test('redirections that lead in a circle end', async () => {
  const moved = refusal(302, { contacts: ['sip:bob@a'] })
  const tried = await tries(scene([target('a', { followRedirects: true })]).ways(), () => moved)
  assert.is(tried.length, 6)
})

test.run()
