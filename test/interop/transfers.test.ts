import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { HEARD_DBOV } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Baresip } from './peers/baresip.ts'
import { Sipp } from './peers/sipp.ts'
import { withoutOptions } from './peers/without-options.ts'

/** Transfers on the wire: asked for by others, and asked of others. */

const test = sharedSuite('interop/transfers')
const missing = missingPrograms('sipp')
const LIMIT = { timeoutMs: 60_000 }
const TARGET = '+15557654321'
/** Where the trunk of these tests calls from. */
const TRUNK = '127.0.0.8'
const NUMBER = '+15551239001'

/** Who is called over the trunk. */
let carrier: Phone
let connectionId: string
test.before(async () => {
  if (missing !== null) return
  for (const { id } of (await product.ok('GET', '/connections')).data) {
    await product.ok('PATCH', `/connections/${id}`, { allowed_ips: ['127.0.0.1'] })
  }
  carrier = await Phone.open('carrier')
  const { port } = new URL(carrier.uri.replace(/^sip:/, 'sip://'))
  const at = { host: '127.0.0.1', port: Number(port), allowed_ips: [TRUNK] }
  connectionId = (await product.ok('POST', '/connections', { name: 'Trunk', kind: 'trunk', ...at })).id
  await product.ok('POST', '/phone_numbers', { number: NUMBER, connection_id: connectionId })
  const match = { to: NUMBER, connection_id: connectionId }
  await product.ok('POST', '/inbound_routes', { match, target: { type: 'echo' } })
})

const wireTest = (sentence: string, run: () => Promise<void>): void => {
  test(sentence, run, { ...LIMIT, missing })
}
const policy = (transfers: string): Promise<unknown> =>
  product.ok('PATCH', `/connections/${connectionId}`, { transfers })

const call = (scenario: string): Promise<Sipp> =>
  Sipp.caller(scenario, product.sip, { host: TRUNK, to: NUMBER, keys: { target: TARGET } })

/** How the newest transfer of these went, as its events tell. */
const statuses = async (): Promise<string[]> => {
  const events = (await product.ok('GET', '/events?type=call.transfer.updated&limit=20')).data
  const newest = events[0]?.data.object.id
  return events
    .filter((event: { data: { object: { id: string } } }) => event.data.object.id === newest)
    .map((event: { data: { object: { status: string } } }) => event.data.object.status)
    .reverse()
}

wireTest(
  'a trunk of which nothing is said may transfer nothing: its REFER is refused, and its call goes on',
  async () => {
    await (await call('refer-refused')).passed()
  },
)

wireTest('RFC 3891: an INVITE in the place of no dialog of ours is answered 481', async () => {
  await (await call('replaces-nobody')).passed()
})

wireTest(
  'bridge: whom a REFER names is called in its place, hears what it would hear, and the old far end is hung up',
  async () => {
    await policy('bridge')
    const sipp = await call('refers')
    const target = await carrier.next()
    target.ring()
    target.answer()
    await sipp.passed()
    assert.match(sipp.received('BYE')[0]!.text, /^Reason: Q\.850;cause=16;text="Normal call clearing"\r?$/m)
    assert.equal(await statuses(), ['trying', 'ringing', 'completed'])
    const running = (await product.ok('GET', '/calls?status=in_progress')).data
    assert.equal(running.length, 1, 'the call is the same object, and goes on')
    await target.hangup()
    await product.until('it has ended', async () =>
      (await product.ok('GET', `/calls/${running[0].id}`)).status === 'completed' ? true : null,
    )
  },
)

wireTest('bridge: nobody answers, and whoever has asked has its call still', async () => {
  await policy('bridge')
  const sipp = await call('refers-in-vain')
  const target = await carrier.next()
  target.reject(486)
  await sipp.passed()
  assert.equal((await statuses()).at(-1), 'failed')
})

for (const [how, end, told] of [
  ['is answered', 'transfer goes on', 'completed'],
  ['is busy', 'call ends', 'failed'],
] as const) {
  wireTest(
    `bridge: whoever has asked hangs up once that is accepted (RFC 5589 §6.2); the target ${how}: the ${end}`,
    async () => {
      await policy('bridge')
      const sipp = await call('refers-and-leaves')
      const target = await carrier.next()
      // It has hung up by then.
      await new Promise(later => setTimeout(later, 500))
      target.ring()
      const [running] = (await product.ok('GET', '/calls?status=in_progress')).data
      if (told === 'completed') {
        target.answer()
        target.say(tone(700))
        await sipp.passed()
        assert.ok(await hears(target, 700), 'the echo')
        await target.hangup()
      } else {
        target.reject(486)
        await sipp.passed()
      }
      const ended = await product.until('it has ended', async () => {
        const now = await product.ok('GET', `/calls/${running.id}`)
        return now.ended_at === null ? null : now
      })
      assert.is(ended.ended_reason, 'caller_hangup')
      assert.equal((await statuses()).at(-1), told)
    },
  )
}

for (const [how, what] of [
  ['is heard', 'the target (early media)'],
  ['rings', 'our ringing tone'],
] as const) {
  wireTest(`bridge: whoever has asked is gone; until a target that ${how} answers, the other party hears ${what}`, () =>
    withMember(async (phone, account) => {
      const connections = (await product.ok('GET', '/connections')).data as { id: string; transfers: string }[]
      for (const { id } of connections) await product.ok('PATCH', `/connections/${id}`, { transfers: 'bridge' })
      const { call: member, outside } = await callOutside(phone, account, TARGET, 440)
      assert.ok(await hears(member, 440))
      outside.refer(`sip:${OTHER}@127.0.0.1`)
      const target = await carrier.next()
      await outside.hangup()
      if (how === 'rings') {
        target.ring()
        // Of E.180; it is quieter than who speaks.
        assert.ok(await hears(member, 425, HEARD_DBOV - 5), 'while it rings')
      } else target.early()
      target.say(tone(700))
      if (how === 'is heard') assert.ok(await hears(member, 700), 'before the answer')
      target.answer()
      member.say(tone(900))
      assert.equal([await hears(target, 900), await hears(member, 700)], [true, true])
      await member.hangup()
      await target.ended
      for (const { id, transfers } of connections) await product.ok('PATCH', `/connections/${id}`, { transfers })
    }),
  )
}

/** An outgoing call over a connection with `follow` to a SIPp, which is answered. */
async function followed(scenario: string, act: (callId: string) => Promise<void>): Promise<void> {
  const sipp = await Sipp.callee(scenario)
  const door = await withoutOptions(sipp)
  const way = { host: '127.0.0.1', port: door.port, transfers: 'follow', rates: [{ prefix: '+49', cost: 0 }] }
  const { id } = await product.ok('POST', '/connections', { name: 'Follows', kind: 'trunk', ...way })
  try {
    const { id: callId } = await product.ok('POST', '/calls', { to: '+493012345678' })
    await sipp.answered(product, callId)
    await product.ok('POST', `/calls/${callId}/transfer`, { to: TARGET })
    await act(callId)
    await sipp.passed()
  } finally {
    await product.ok('DELETE', `/connections/${id}`)
    door.close()
  }
}

wireTest('follow: our transfer goes to the far end as REFER; once it has reached the target the call leaves us', () =>
  followed('is-referred', async callId => {
    const ended = await product.until('it has left', async () => {
      const now = await product.ok('GET', `/calls/${callId}`)
      return now.ended_at === null ? null : now
    })
    assert.is(ended.ended_reason, 'transfer_completed')
    assert.equal(await statuses(), ['trying', 'ringing', 'completed'])
  }),
)

wireTest('follow: the far end does not reach the target, and we have the call still', () =>
  followed('is-referred-in-vain', async callId => {
    await product.until('it has failed', async () => ((await statuses()).at(-1) === 'failed' ? true : null))
    assert.is((await product.ok('GET', `/calls/${callId}`)).status, 'in_progress')
    await product.ok('POST', `/calls/${callId}/hangup`)
  }),
)

// ---------------------------------------------------------------------------------------------------- a member's phone

const OTHER = '+493055555555'

/** A member's account, and a phone that proves it. */
async function withMember(
  use: (phone: Phone, account: { username: string; password: string }, userId: string) => Promise<void>,
): Promise<void> {
  const { user_id: userId } = await product.ok('POST', '/invitations', { email: `member${++members}@example.com` })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
  const { username, password } = await product.ok('POST', `/users/${userId}/sip_credential`)
  const phone = await Phone.open('member')
  try {
    await use(phone, { username, password }, userId)
  } finally {
    await phone.close()
  }
}
let members = 0

async function hears(call: PhoneCall, hz: number, dbov = HEARD_DBOV): Promise<boolean> {
  for (let tries = 0; tries < 20; tries++) if (levelAt(hz, await call.heard.next(300)) > dbov) return true
  return false
}

/** The phone calls a number outside, which answers and says this tone. */
async function callOutside(phone: Phone, account: { username: string; password: string }, to: string, hz: number) {
  const calling = phone.call(to, product.sip, { account })
  const outside = await carrier.next()
  outside.answer()
  outside.say(tone(hz))
  return { call: await calling, outside }
}

wireTest(
  'attended: a REFER with Replaces of a second call brings both others together, and the phone is out of both',
  () =>
    withMember(async (phone, account) => {
      const { call: first, outside: one } = await callOutside(phone, account, TARGET, 440)
      assert.ok(await hears(first, 440))
      const { call: second, outside: two } = await callOutside(phone, account, OTHER, 700)
      assert.ok(await hears(second, 700))
      first.refer(`sip:${OTHER}@127.0.0.1`, second)
      await Promise.all([first.ended, second.ended])
      assert.equal([await hears(one, 700), await hears(two, 440)], [true, true])
      await one.hangup()
      await two.ended
    }),
)

wireTest(
  'attended, while the second call still rings: the phone is out of both at once, and the others meet with the answer',
  () =>
    withMember(async (phone, account) => {
      const { call: first, outside: one } = await callOutside(phone, account, TARGET, 440)
      assert.ok(await hears(first, 440))
      const second = await phone.dial(OTHER, product.sip, { account })
      const two = await carrier.next()
      two.ring()
      await second.ringing
      first.refer(`sip:${OTHER}@127.0.0.1`, second)
      await first.ended
      assert.is((await second.outcome).status, 480)
      assert.ok(await hears(one, 425, HEARD_DBOV - 5), 'our ringing tone')
      two.answer()
      two.say(tone(700))
      assert.equal([await hears(one, 700), await hears(two, 440)], [true, true])
      await one.hangup()
      await two.ended
    }),
)

wireTest("RFC 3891: a second phone of the member's takes the call over, and the first is hung up", () =>
  withMember(async (phone, account) => {
    const { call: first, outside } = await callOutside(phone, account, TARGET, 440)
    assert.ok(await hears(first, 440))
    const headers = [['Replaces', first.dialog()]] as const
    const second = await phone.call('anything', product.sip, { account, headers })
    second.say(tone(700))
    await first.ended
    assert.equal([await hears(second, 440), await hears(outside, 700)], [true, true])
    await outside.hangup()
    await second.ended
  }),
)

wireTest(
  "RFC 3891: a member's phone picks up what rings at a colleague, whose phone is told that it was answered",
  () =>
    withMember((phone, account) =>
      withMember(async (colleague, other, userId) => {
        await colleague.register(other, product.sip)
        const match = { to: '4790' }
        const { id } = await product.ok('POST', '/inbound_routes', { match, target: { type: 'user', id: userId } })
        const calling = phone.dial('4790', product.sip)
        const rung = await colleague.next()
        rung.ring()
        const caller = await calling
        await caller.ringing
        const headers = [['Replaces', rung.dialog()]] as const
        const taken = await phone.call('anything', product.sip, { account, headers })
        assert.match((await rung.ended).reasonHeader ?? '', /SIP;cause=200/)
        caller.say(tone(440))
        taken.say(tone(700))
        assert.equal([await hears(caller, 700), await hears(taken, 440)], [true, true])
        await taken.hangup()
        await caller.ended
        await product.ok('DELETE', `/inbound_routes/${id}`)
      }),
    ),
)

wireTest('RFC 3891: a trunk may take over a call of its own, but not an answered one as early', async () => {
  const trunk = await Phone.open('trunk', {}, TRUNK)
  await policy('bridge')
  const first = await trunk.call(NUMBER, product.sip)
  const instead = (dialog: string) => trunk.dial(NUMBER, product.sip, { headers: [['Replaces', dialog]] })
  assert.is((await (await instead(`${first.dialog()};early-only`)).outcome).status, 486)
  const second = await instead(first.dialog())
  assert.is((await second.outcome).status, 200)
  await first.ended
  second.say(tone(700))
  assert.ok(await hears(second, 700), 'the echo')
  await policy('refuse')
  assert.is((await (await instead(second.dialog())).outcome).status, 403)
  await second.hangup()
  await trunk.close()
})

// ---------------------------------------------------------------------------------------------------- baresip

const noPhone = missing ?? missingPrograms('baresip')

/** The first dials, the others take calls by themselves. */
async function withPhones(
  count: number,
  use: (phones: Baresip[], users: string[], extensions: string[]) => Promise<void>,
): Promise<void> {
  const phones: Baresip[] = []
  const users: string[] = []
  const extensions: string[] = []
  try {
    for (let n = 0; n < count; n++) {
      const extension = String(440 + ++members)
      const email = `xfer${members}@example.com`
      const { user_id: userId } = await product.ok('POST', '/invitations', { email, extension })
      await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
      extensions.push(extension)
      const account = await product.ok('POST', `/users/${userId}/sip_credential`)
      const registered = { ...account, transport: 'udp', everyS: 600 }
      phones.push(await Baresip.start({ toneHz: 700, answers: n > 0, account: registered }))
      users.push(userId)
      await product.until('it is registered', async () =>
        (await product.ok('GET', `/users/${userId}/sip_credential`)).registrations.length === 0 ? null : true,
      )
    }
    await use(phones, users, extensions)
  } finally {
    for (const phone of phones) await phone.stop()
  }
}

const ofBaresip = (sentence: string, run: () => Promise<void>): void => {
  test(sentence, run, { ...LIMIT, missing: noPhone })
}

ofBaresip('baresip transfers blind to a colleague: it is free, and the other two talk', () =>
  withPhones(2, async ([ann], [annId, bobId], [, bobs]) => {
    const at = (user: string): string => `sip:${user}@127.0.0.1:${product.sip.port}`
    ann!.dial(at(TARGET))
    const outside = await carrier.next()
    outside.answer()
    const { call: talks } = await product.until('ann talks', async () => {
      const status = await product.ok('GET', `/agents/${annId}/status`)
      return status.call === null ? null : status
    })
    await product.until('it is answered', async () =>
      (await product.ok('GET', `/calls/${talks.call_id}`)).status === 'in_progress' ? true : null,
    )
    // The party outside is there first, and a phone transfers no call that is not.
    await ann!.until('CALL_ESTABLISHED')
    ann!.transfer(at(bobs!))
    await product.until('bob talks', async () => {
      const status = await product.ok('GET', `/agents/${bobId}/status`)
      return status.call?.call_id === talks.call_id ? true : null
    })
    await product.until('ann is free', async () =>
      (await product.ok('GET', `/agents/${annId}/status`)).call === null ? true : null,
    )
    assert.equal((await statuses()).at(-1), 'completed')
    await outside.hangup()
  }),
)

for (const [sentence, isFirst] of [
  ['baresip is consulted about a call and gets it: attended, by REFER with Replaces', false],
  [
    'baresip is transferred by a colleague who has consulted somebody outside, and notices nothing but another voice',
    true,
  ],
] as const) {
  ofBaresip(sentence, () =>
    withPhones(2, ([, bob], _users, [, bobs]) =>
      withMember(async (phone, account) => {
        const callBob = () => phone.call(bobs!, product.sip, { account })
        const early = isFirst ? await callBob() : null
        const { call, outside } = await callOutside(phone, account, TARGET, 440)
        const withBob = early ?? (await callBob())
        await bob!.until('CALL_ESTABLISHED')
        assert.equal([await hears(call, 440), await hears(withBob, 700)], [true, true])
        const [first, second] = isFirst ? [withBob, call] : [call, withBob]
        first.refer(`sip:${isFirst ? TARGET : bobs}@127.0.0.1`, second)
        await Promise.all([first.ended, second.ended])
        assert.ok(await hears(outside, 700), 'they talk with each other')
        assert.is(bob!.events.filter(({ type }) => type === 'CALL_CLOSED').length, 0)
        await outside.hangup()
        await bob!.until('CALL_CLOSED')
      }),
    ),
  )
}

ofBaresip('baresip is asked to call somebody else (REFER), does, and has left us: transfers `follow`', async () => {
  const baresip = await Baresip.start({ toneHz: 700, answers: true, user: OTHER })
  const port = Number(baresip.uri.split(':').at(-1))
  const way = { host: '127.0.0.1', port, transfers: 'follow', rates: [{ prefix: '+4930', cost: 0 }] }
  const { id } = await product.ok('POST', '/connections', { name: 'Baresip', kind: 'trunk', ...way })
  try {
    const { id: callId } = await product.ok('POST', '/calls', { to: OTHER })
    await product.until('it is answered', async () =>
      (await product.ok('GET', `/calls/${callId}`)).status === 'in_progress' ? true : null,
    )
    await product.ok('POST', `/calls/${callId}/transfer`, { to: carrier.uri })
    const target = await carrier.next()
    target.answer()
    assert.ok(await hears(target, 700), 'it has called by itself')
    const ended = await product.until('the call has left', async () => {
      const now = await product.ok('GET', `/calls/${callId}`)
      return now.ended_at === null ? null : now
    })
    assert.is(ended.ended_reason, 'transfer_completed')
    await target.hangup()
  } finally {
    await product.ok('DELETE', `/connections/${id}`)
    await baresip.stop()
  }
})

test.run()
