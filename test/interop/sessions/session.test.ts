// Sleeps most: it waits most of the time, and judges only a tone that lasts.
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { Product } from '../../../bench/product.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { curtain, endedCall, HEARD_DBOV, invited } from '../../e2e/scene.ts'
import { missingPrograms, suite } from '../../harness.ts'
import type { Sipp } from '../peers/sipp.ts'
import { hasSix, Loss, overUdp, SIX, testWays, WAYS, type Way, WaysProduct } from '../peers/ways.ts'

// What happens in a session after its beginning, and between phones and us outside of calls, over every way, and over UDP with losses.

const test = suite('interop/sessions/session')
const missing = missingPrograms('sipp', 'openssl')

let ways: WaysProduct
let product: Product
test.before(async () => {
  if (missing !== null) return
  ways = await WaysProduct.start()
  product = ways.product
})
test.after(async () => {
  ways?.close()
  await curtain(product)
})

/** Over each way, and over UDP where each message is lost once. @param spared what SIPp cannot miss, for then something else comes first */
function sippTest(sentence: string, run: (way: Way, passes?: Loss['passes']) => Promise<void>, spared = ''): void {
  testWays(test, missing, sentence, way => run(way))
  const lossy = async (way: Way): Promise<void> => {
    const loss = new Loss(name => name !== spared)
    await run(way, loss.passes)
    assert.ok(loss.lost.size >= 4, [...loss.lost].join())
  }
  testWays(test, missing, `${sentence}, each message being lost once`, lossy, WAYS.filter(overUdp))
}

let members = 0
interface Member {
  userId: string
  extension: string
  account: { username: string; password: string }
}

async function newMember(): Promise<Member> {
  const extension = String(300 + ++members)
  return { extension, ...(await invited(product, `session${members}@example.com`, { extension })) }
}

/** SIPp as this member's phone. */
const phone = (
  scenario: string,
  { account }: Member,
  keys: Record<string, string>,
  way: Way,
  passes?: Loss['passes'],
) => ways.caller(scenario, way, { to: account.username, account, keys }, passes)

sippTest(
  'we ask for a session timer, raise it to what a 422 names, and hold by UPDATE after the Retry-After of a 500 (RFC 4028, RFC 3311)',
  async (way, passes) => {
    const { sipp, uri } = await ways.callee('longer-session', way, {}, passes)
    const { id } = await product.ok('POST', '/calls', { to: uri })
    await sipp.answered(product, id)
    await product.until('its 200 is acknowledged', async () => (sipp.received('ACK').length > 1 ? true : null))
    await product.ok('POST', `/calls/${id}/hold`)
    await product.until('the second UPDATE is answered', async () =>
      sipp.messages.some(({ sent, text }) => sent && /^SIP\/2\.0 200[\s\S]*a=recvonly/.test(text)) ? true : null,
    )
    await product.ok('POST', `/calls/${id}/hangup`)
    await sipp.passed()
    assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
  },
  'ACK of 1 ACK',
)

sippTest(
  'who wants a shorter session than 90 s is told 422, when it calls and in the call; its refreshes are accepted (RFC 4028 §9)',
  async (way, passes) => (await ways.caller('short-session', way, {}, passes)).passed(),
)

testWays(
  test,
  missing,
  'our 200 to a re-INVITE is lost once by a proxy, and sent again from end to end (RFC 3261 §14.2)',
  async way => {
    const loss = new Loss(name => name === '200 of 6 INVITE')
    await (await ways.caller('short-session', way, {}, loss.passes)).passed()
    assert.is(loss.lost.size, 1)
  },
  WAYS.filter(way => !overUdp(way)),
)

/** Between the 491 to our change and the next one [ms]. */
function waitedAfterGlare(sipp: Sipp, method: string): number {
  const refused = sipp.messages.find(({ sent, startLine }) => sent && startLine.startsWith('SIP/2.0 491'))
  return sipp.received(method).at(-1)!.at - refused!.at
}

/** Holds a call that a far end wants to hold at the same moment, and hangs it up once it is held. */
async function holdBoth(sipp: Sipp, id: string): Promise<void> {
  await sipp.answered(product, id)
  await product.ok('POST', `/calls/${id}/hold`)
  await product.until('our second offer is answered', async () =>
    sipp.messages.some(({ sent, text }) => sent && /^SIP\/2\.0 200[\s\S]*a=recvonly/.test(text)) ? true : null,
  )
  assert.is((await product.ok('GET', `/calls/${id}`)).status, 'held')
  await product.ok('POST', `/calls/${id}/hangup`)
  await sipp.passed()
  assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
}

for (const [scenario, method] of [
  ['glare-callee', 'INVITE'],
  ['glare-update', 'UPDATE'],
] as const) {
  testWays(
    test,
    missing,
    `glare of ${method}: both are told 491; who has made the call asks again after 2.1 to 4 s (RFC 3261 §14.1)`,
    async way => {
      const { sipp, uri } = await ways.callee(scenario, way)
      const { id } = await product.ok('POST', '/calls', { to: uri })
      await holdBoth(sipp, id)
      const waited = waitedAfterGlare(sipp, method)
      assert.ok(waited >= 2090, `${waited} ms`)
    },
  )
}

testWays(test, missing, 'glare: who is called asks again within 2 s (RFC 3261 §14.1)', async way => {
  const to = `7${WAYS.indexOf(way)}`
  await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'echo' } })
  const sipp = await ways.caller('glare-caller', way, { to })
  const { id } = await product.until(
    'it has called',
    async () => (await product.all('/calls')).find(one => one.to.startsWith(`sip:${to}@`)) ?? null,
  )
  await holdBoth(sipp, id)
})

testWays(
  test,
  missing,
  'glare of BYE: both are told 200, and the call has ended once (RFC 3261 §15.1.2)',
  async way => {
    const { sipp, uri } = await ways.callee('bye-glare-callee', way)
    const { id } = await product.ok('POST', '/calls', { to: uri })
    await hangUpBoth(sipp, id)
    const to = `8${WAYS.indexOf(way)}`
    await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'echo' } })
    const calling = await ways.caller('bye-glare-caller', way, { to })
    const call = await product.until('it has called', async () =>
      (await product.all('/calls')).find(one => one.to.startsWith(`sip:${to}@`)),
    )
    await hangUpBoth(calling, call.id)
  },
)

/** Hangs up a call whose far end hangs up at the same moment. */
async function hangUpBoth(sipp: Sipp, id: string): Promise<void> {
  await sipp.answered(product, id)
  await product.until('its 200 is acknowledged', async () =>
    sipp.messages.some(({ text }) => text.startsWith('ACK')) ? true : null,
  )
  await product.ok('POST', `/calls/${id}/hangup`)
  await sipp.passed()
  assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
  const { data } = await product.ok('GET', `/events?type=call.ended&limit=100`)
  assert.is(data.filter((event: { data: { object: { id: string } } }) => event.data.object.id === id).length, 1)
}

testWays(
  test,
  missing,
  'a BYE that comes in the place of the answer to our re-INVITE is answered, and the 487 of that acknowledged (RFC 3261 §15)',
  async way => {
    const { sipp, uri } = await ways.callee('bye-in-change', way)
    const { id } = await product.ok('POST', '/calls', { to: uri })
    await sipp.answered(product, id)
    await product.until('its 200 is acknowledged', async () => (sipp.received('ACK').length > 0 ? true : null))
    await product.ok('POST', `/calls/${id}/hold`)
    await sipp.passed()
    assert.is((await endedCall(product, id)).ended_reason, 'caller_hangup')
  },
)

testWays(
  test,
  missing,
  'an event package that nobody has is answered 489 with Allow-Events (RFC 6665 §8.3.2)',
  async way => {
    const ann = await newMember()
    await (await phone('bad-event', ann, { who: ann.account.username }, way)).passed()
  },
)

sippTest("a phone's text reaches a colleague's phone, and the API's does too (RFC 3428)", async (way, passes) => {
  const [ann, bob] = [await newMember(), await newMember()]
  const atBob = await ways.phone(bob.account, way)
  const first = await atBob('gets-text', { text: 'lunch at one' })
  await (await phone('texts', ann, { who: bob.extension }, way, passes)).passed()
  await first.passed()
  const toBob = ({ to_user_id }: { to_user_id: string | null }): boolean => to_user_id === bob.userId
  const statusOf = async (): Promise<string> => (await product.all('/messages')).find(toBob)!.status
  await product.until('it is delivered', async () => ((await statusOf()) === 'delivered' ? true : null))
  const second = await atBob('gets-text', { text: 'your shift' })
  const { id } = await product.ok('POST', '/messages', { to_user_id: bob.userId, text: 'your shift begins' })
  await second.passed()
  await product.until('it is delivered', async () =>
    (await product.ok('GET', `/messages/${id}`)).status === 'delivered' ? true : null,
  )
})

/** Every way, and those of UDP with losses, though not of a 200 for SUBSCRIBE: SIPp cannot take its NOTIFY before that. */
const SUBSCRIBERS: readonly (readonly [Way, Loss?])[] = [
  ...WAYS.map(way => [way] as const),
  ...WAYS.filter(overUdp).map(way => [way, new Loss(name => !/^200 of (. SUBSCRIBE|2 NOTIFY)/.test(name))] as const),
]

/** Phones that subscribe over each way, once they have been told the first state. */
async function subscribers(of: () => Promise<Member>, keys: Record<string, string>): Promise<Sipp[]> {
  const phones: Sipp[] = []
  for (const [way, loss] of SUBSCRIBERS) {
    if (way.host === SIX && !hasSix) continue
    const member = await of()
    phones.push(await phone('subscribes', member, { who: member.account.username, ...keys }, way, loss?.passes))
  }
  await product.until('they are told what is so', async () =>
    phones.every(one => one.messages.some(({ sent, text }) => sent && /^SIP\/2\.0 200[\s\S]*NOTIFY/.test(text)))
      ? true
      : null,
  )
  return phones
}

// They are the last: among all the others SIPp would be too late for its own time-outs.
const LIMIT = { timeoutMs: 60_000 }
const subscribersTest = (sentence: string, run: () => Promise<void>): void => {
  test(`${sentence}, over every way, and by UDP where each message is lost once`, run, { ...LIMIT, missing })
}

subscribersTest(
  "phones' lamps show that a colleague is rung; they subscribe and unsubscribe by digest (RFC 6665, RFC 4235)",
  async () => {
    const [ann, bob] = [await newMember(), await newMember()]
    const busy = await (await ways.phone(bob.account, WAYS[0]!))('no-answer')
    const keys = { who: bob.extension, package: 'dialog', first: 'state="full"', later: '<state>early</state>' }
    const lamps = await subscribers(async () => ann, keys)
    const caller = await Phone.open('caller')
    const { id } = await product.ok('POST', '/calls', { to: caller.uri, user_id: bob.userId })
    const call = await caller.next()
    call.answer()
    for (const lamp of lamps) await lamp.passed()
    await product.ok('POST', `/calls/${id}/hangup`)
    await busy.passed()
    await caller.close()
  },
)

subscribersTest('phones are told of a voicemail for them (RFC 3842)', async () => {
  const members = await Promise.all(SUBSCRIBERS.map(newMember))
  const queue = {
    ...{ name: 'Lamps', member_user_ids: members.map(({ userId }) => userId) },
    ...{ voicemail: { message: '', max_seconds: 10 }, overflow: { when_no_agents: true, action: 'voicemail' } },
  }
  const { id: queueId } = await product.ok('POST', '/queues', queue)
  const target = { type: 'queue', id: queueId }
  await product.ok('POST', '/inbound_routes', { match: { to: '7900' }, target })
  const rest = [...members]
  const keys = { package: 'message-summary', first: 'Voice-Message: 0/0', later: 'Voice-Message: 1/0' }
  const lamps = await subscribers(async () => rest.pop()!, keys)
  const call = await (await Phone.open('leaves-message')).call('7900', product.sip)
  call.say(tone(440))
  let isBeeped = false
  for (let tries = 0; tries < 150 && !isBeeped; tries++) {
    isBeeped = levelAt(1000, await call.heard.next(100)) > HEARD_DBOV
  }
  assert.ok(isBeeped, 'the beep is heard')
  await call.heard.next(1500)
  await call.hangup()
  for (const lamp of lamps) await lamp.passed()
})

test.run()
