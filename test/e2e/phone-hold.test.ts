import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import { levelAt, loudness } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { callFrom, endedCall, HEARD_DBOV, invited, UNHEARD_DBOV } from './scene.ts'
import { product, sharedSuite } from './shared-suite.ts'

// A member holds by the phone itself: the other end hears our music, and the call is held as by the API.

const test = sharedSuite('e2e/phone-hold')
const LIMIT = { timeoutMs: 60_000, together: true }
const CALLER_HZ = 440
const AGENT_HZ = 700
const COLLEAGUE_HZ = 900
/** Minimum level of our music; a line on which nobody is heard is far below. */
const MUSIC_DBOV = -45

interface Member {
  userId: string
  extension: string
  account: { username: string; password: string }
  phone: Phone
}

let members = 0
async function newMember(name: string): Promise<Member> {
  const extension = String(7700 + ++members)
  const email = `${name}${extension}@example.com`
  const { userId, account } = await invited(product, email, { extension })
  const phone = await Phone.open(name)
  await phone.register(account, product.sip)
  await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
  return { userId, extension, account, phone }
}

/** The phone of an agent talks with a caller of its queue. */
async function talk(name: string) {
  const agent = await newMember(name)
  const number = `9${agent.extension}`
  const queue = { name: `Queue ${number}`, member_user_ids: [agent.userId], wrap_up_seconds: 0 }
  const { id } = await product.ok('POST', '/queues', queue)
  await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'queue', id } })
  const from = `${name}-caller`
  const atCaller = await (await Phone.open(from)).call(number, product.sip)
  atCaller.say(tone(CALLER_HZ))
  const atAgent = await agent.phone.next()
  atAgent.answer()
  atAgent.say(tone(AGENT_HZ))
  await hears(atCaller, AGENT_HZ)
  await hears(atAgent, CALLER_HZ)
  return { agent, atCaller, atAgent, callId: (await callFrom(product, from)).id as string }
}

/** Waits until this tone is heard for half a second. */
async function hears(call: PhoneCall, hz: number): Promise<void> {
  let level = 0
  for (let tries = 0; tries < 24; tries++) {
    level = levelAt(hz, await call.heard.next(500))
    if (level > HEARD_DBOV) return
  }
  assert.unreachable(`${hz} Hz is not heard: ${level} dBov`)
}

/** Waits until music and nobody's voice is heard for a whole second. */
async function hearsMusic(call: PhoneCall): Promise<void> {
  let seen: unknown
  for (let tries = 0; tries < 12; tries++) {
    const window = await call.heard.next(1000)
    const voices = [CALLER_HZ, AGENT_HZ, COLLEAGUE_HZ].map(hz => levelAt(hz, window))
    seen = { loud: loudness(window), voices }
    if (loudness(window) > MUSIC_DBOV && voices.every(level => level < HEARD_DBOV - 5)) return
  }
  assert.unreachable(`no music: ${JSON.stringify(seen)}`)
}

async function hearsNothing(call: PhoneCall): Promise<void> {
  for (let tries = 0; tries < 12; tries++) if (loudness(await call.heard.next(500)) < UNHEARD_DBOV - 15) return
  assert.unreachable('something is heard')
}

const isNow = (callId: string, status: string) =>
  product.until(`the call is ${status}`, async () =>
    (await product.ok('GET', `/calls/${callId}`)).status === status ? true : null,
  )

const holds = async (callId: string): Promise<string[]> =>
  (await product.all(`/calls/${callId}/events`))
    .map(({ type }) => type)
    .filter(type => type === 'call.held' || type === 'call.resumed')

for (const how of ['sendonly', 'inactive'] as const) {
  test(
    `an agent's phone holds by \`${how}\`: the caller hears our music, not the phone's, and the call is held until the phone resumes`,
    async () => {
      const { atCaller, atAgent, callId } = await talk(`holds-${how}`)
      assert.is(await atAgent.hold(how), 200)
      await isNow(callId, 'held')
      await hearsMusic(atCaller)
      assert.is(await atAgent.resume(), 200)
      await isNow(callId, 'in_progress')
      await hears(atCaller, AGENT_HZ)
      await hears(atAgent, CALLER_HZ)
      assert.equal(await holds(callId), ['call.held', 'call.resumed'])
      await atAgent.hold(how)
      await isNow(callId, 'held')
      await atAgent.hangup()
      assert.is((await endedCall(product, callId)).ended_reason, 'agent_hangup')
    },
    LIMIT,
  )
}

test(
  'held by the phone and by the API it is one hold, and whoever acts last decides',
  async () => {
    const { atCaller, atAgent, callId } = await talk('holds-both')
    await atAgent.hold('inactive')
    await isNow(callId, 'held')
    assert.is((await product.api('POST', `/calls/${callId}/hold`)).status, 409)
    await product.ok('POST', `/calls/${callId}/unhold`)
    await hearsNothing(atCaller)
    await atAgent.resume()
    await hears(atCaller, AGENT_HZ)
    await product.ok('POST', `/calls/${callId}/hold`)
    await atAgent.hold()
    await hearsMusic(atCaller)
    await atAgent.resume()
    await isNow(callId, 'in_progress')
    await hears(atCaller, AGENT_HZ)
    assert.equal(await holds(callId), ['call.held', 'call.resumed', 'call.held', 'call.resumed'])
    await atCaller.hangup()
  },
  LIMIT,
)

test(
  'a phone that holds transfers blind: in vain, and the caller stays on hold until the phone resumes; then to a colleague, who talks',
  async () => {
    const { atCaller, atAgent, callId } = await talk('holds-refers')
    const bob = await newMember('refused')
    const to = `sip:${bob.extension}@127.0.0.1`
    await atAgent.hold()
    await isNow(callId, 'held')
    atAgent.refer(to)
    ;(await bob.phone.next()).reject(603)
    await product.until('the transfer has failed', async () => {
      const events = await product.all(`/calls/${callId}/events`)
      const told = events.filter(({ type }) => type === 'call.transfer.updated')
      return told.some(({ data }) => data.object.status === 'failed') || null
    })
    await hearsMusic(atCaller)
    assert.equal(await holds(callId), ['call.held'])
    await atAgent.resume()
    await hears(atCaller, AGENT_HZ)
    await atAgent.hold()
    // What it says for the colleague (RFC 7433 §3.3) was not said to whom it called before.
    atAgent.refer(`${to}?User-to-User=ab%3Bencoding%3Dhex`)
    const atBob = await bob.phone.next()
    atBob.answer()
    atBob.say(tone(COLLEAGUE_HZ))
    await hears(atCaller, COLLEAGUE_HZ)
    await hears(atBob, CALLER_HZ)
    await isNow(callId, 'in_progress')
    assert.equal(await holds(callId), ['call.held', 'call.resumed', 'call.held', 'call.resumed'])
    await atCaller.hangup()
    const port = bob.phone.uri.split(':').at(-1)
    const said = await product.until('both INVITEs to the colleague are in the trace', async () => {
      const messages = await product.all(`/calls/${callId}/sip`)
      const invites = messages.filter(({ start_line: line }) => line.startsWith('INVITE ') && line.includes(`:${port}`))
      const told = invites.map(({ headers }) => headers.find(({ name }: { name: string }) => name === 'User-to-User'))
      return invites.length < 2 ? null : told.map(header => header?.value ?? null)
    })
    assert.equal(said, [null, 'ab;encoding=hex'])
  },
  LIMIT,
)

test(
  'while the phone holds a supervisor joins, a card payment begins and ends, and the API transfers: the hold is over with the transfer',
  async () => {
    const { atCaller, atAgent, callId } = await talk('holds-others')
    const sue = await newMember('supervises')
    const bob = await newMember('takes')
    await atAgent.hold()
    await isNow(callId, 'held')
    await product.ok('POST', `/calls/${callId}/supervise`, { mode: 'barge', user_id: sue.userId })
    const atSue = await sue.phone.next()
    atSue.answer()
    atSue.say(tone(COLLEAGUE_HZ))
    await hears(atSue, AGENT_HZ)
    await product.ok('POST', `/calls/${callId}/pci`, { action: 'pause', reason: 'payment' })
    await hearsMusic(atCaller)
    await product.ok('POST', `/calls/${callId}/pci`, { action: 'resume' })
    await hearsMusic(atCaller)
    await atAgent.resume()
    await hears(atCaller, AGENT_HZ)
    await hears(atCaller, COLLEAGUE_HZ)
    await product.ok('POST', `/calls/${callId}/supervise`, { mode: 'stop', user_id: sue.userId })
    await atAgent.hold('inactive')
    await isNow(callId, 'held')
    await product.ok('POST', `/calls/${callId}/transfer`, { user_id: bob.userId })
    const atBob = await bob.phone.next()
    atBob.answer()
    atBob.say(tone(COLLEAGUE_HZ))
    await hears(atCaller, COLLEAGUE_HZ)
    await isNow(callId, 'in_progress')
    assert.equal(await holds(callId), ['call.held', 'call.resumed', 'call.held', 'call.resumed'])
    await atCaller.hangup()
    await atBob.ended
  },
  LIMIT,
)

for (const [sentence, isSecondHeld] of [
  ['a phone holds its caller, calls a colleague, and joins both by REFER with Replaces: they talk', false],
  ['a phone holds both its calls, and joins them by REFER in the second: they talk', true],
] as const) {
  test(
    sentence,
    async () => {
      const { agent, atCaller, atAgent, callId } = await talk(isSecondHeld ? 'holds-two' : 'holds-one')
      const bob = await newMember('joined')
      await atAgent.hold()
      await isNow(callId, 'held')
      const calling = agent.phone.call(bob.extension, product.sip, { account: agent.account })
      const atBob = await bob.phone.next()
      atBob.answer()
      atBob.say(tone(COLLEAGUE_HZ))
      const second = await calling
      await hears(second, COLLEAGUE_HZ)
      if (isSecondHeld) {
        await second.hold()
        await hearsMusic(atBob)
        second.refer(`sip:anybody@127.0.0.1`, atAgent)
      } else atAgent.refer(`sip:${bob.extension}@127.0.0.1`, second)
      await Promise.all([atAgent.ended, second.ended])
      await hears(atCaller, COLLEAGUE_HZ)
      await hears(atBob, CALLER_HZ)
      const running = (await product.ok('GET', `/agents/${bob.userId}/status`)).call.call_id
      await isNow(running, 'in_progress')
      await atCaller.hangup()
      await atBob.ended
    },
    LIMIT,
  )
}

test(
  'a phone that holds already when it gets the call holds its new caller: by a consultation, and joined by REFER',
  async () => {
    const { agent, atCaller, atAgent, callId } = await talk('gives-holding')
    const bob = await newMember('holds-before')
    await product.ok('POST', `/calls/${callId}/transfer`, { user_id: bob.userId, type: 'attended' })
    const atBob = await bob.phone.next()
    atBob.answer()
    atBob.say(tone(COLLEAGUE_HZ))
    await hears(atAgent, COLLEAGUE_HZ)
    await atBob.hold('inactive')
    await product.ok('POST', `/calls/${callId}/transfer/complete`)
    await atAgent.ended
    await hearsMusic(atCaller)
    await isNow(callId, 'held')
    await atBob.resume()
    await hears(atCaller, COLLEAGUE_HZ)
    await hears(atBob, CALLER_HZ)
    assert.equal(await holds(callId), ['call.held', 'call.resumed'])
    // Whoever has the call now calls the first agent, who holds.
    const calling = bob.phone.call(agent.extension, product.sip, { account: bob.account })
    const again = await agent.phone.next()
    again.answer()
    again.say(tone(AGENT_HZ))
    const second = await calling
    await hears(second, AGENT_HZ)
    await again.hold()
    await hearsMusic(second)
    atBob.refer('sip:anybody@127.0.0.1', second)
    await Promise.all([atBob.ended, second.ended])
    await hearsMusic(atCaller)
    await again.resume()
    await hears(atCaller, AGENT_HZ)
    await hears(again, CALLER_HZ)
    await atCaller.hangup()
    await again.ended
  },
  LIMIT,
)

test(
  'a caller from outside holds, and so does the agent: the call is held until neither does',
  async () => {
    const { atCaller, atAgent, callId } = await talk('both-hold')
    await atCaller.hold()
    await isNow(callId, 'held')
    const refused = await product.api('POST', `/calls/${callId}/unhold`)
    assert.equal([refused.status, refused.body.error.details.reason], [409, 'not_held'])
    assert.match(refused.body.error.message, /only they can end/)
    await atAgent.hold()
    await atAgent.resume()
    await hears(atAgent, CALLER_HZ)
    await product.ok('POST', `/calls/${callId}/hold`)
    assert.is((await product.ok('POST', `/calls/${callId}/unhold`)).status, 'held', 'by the caller')
    await atAgent.hold()
    await atCaller.resume()
    await hearsMusic(atCaller)
    assert.equal(await holds(callId), ['call.held'])
    await atAgent.resume()
    await isNow(callId, 'in_progress')
    await hears(atCaller, AGENT_HZ)
    assert.equal(await holds(callId), ['call.held', 'call.resumed'])
    // Some phones answer our hold like this, without holding anybody.
    atCaller.direction = 'inactive'
    await product.ok('POST', `/calls/${callId}/hold`)
    await product.until('the phone was told', async () => (atCaller.remoteDirection === 'sendonly' ? true : null))
    atCaller.direction = 'sendrecv'
    assert.is((await product.ok('POST', `/calls/${callId}/unhold`)).status, 'in_progress')
    await hears(atCaller, AGENT_HZ)
    await atCaller.hangup()
  },
  LIMIT,
)

test(
  "a member who has called a colleague holds by the phone's own key: the colleague hears music, and so the other way round",
  async () => {
    const [ann, bob] = [await newMember('calls'), await newMember('called')]
    const calling = ann.phone.call(bob.extension, product.sip, { account: ann.account })
    const atBob = await bob.phone.next()
    atBob.answer()
    atBob.say(tone(COLLEAGUE_HZ))
    const atAnn = await calling
    atAnn.say(tone(AGENT_HZ))
    await hears(atAnn, COLLEAGUE_HZ)
    await hears(atBob, AGENT_HZ)
    const callId = (await product.ok('GET', `/agents/${ann.userId}/status`)).call.call_id
    await atAnn.hold()
    await isNow(callId, 'held')
    await hearsMusic(atBob)
    await atAnn.resume()
    await hears(atBob, AGENT_HZ)
    await atBob.hold('inactive')
    await hearsMusic(atAnn)
    await isNow(callId, 'held')
    await atBob.resume()
    await hears(atAnn, COLLEAGUE_HZ)
    await hears(atBob, AGENT_HZ)
    assert.equal(await holds(callId), ['call.held', 'call.resumed', 'call.held', 'call.resumed'])
    // The API takes it off hold, whoever's phone holds.
    for (const held of [[atAnn], [atBob], [atAnn, atBob]]) {
      for (const phone of held) await phone.hold()
      await isNow(callId, 'held')
      assert.is((await product.ok('POST', `/calls/${callId}/unhold`)).status, 'in_progress')
      const refused = await product.api('POST', `/calls/${callId}/unhold`)
      assert.equal([refused.status, refused.body.error.details.reason], [409, 'not_held'])
      for (const phone of held) await phone.resume()
      await hears(atAnn, COLLEAGUE_HZ)
      await hears(atBob, AGENT_HZ)
    }
    await atAnn.hangup()
    await atBob.ended
  },
  LIMIT,
)

test.run()
