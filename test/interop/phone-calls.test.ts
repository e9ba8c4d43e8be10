import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import { Product } from '../../bench/product.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { readWav } from '../../codecs/wav.ts'
import { curtain, HEARD_DBOV } from '../e2e/scene.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Baresip } from './peers/baresip.ts'
import { Sipp } from './peers/sipp.ts'

const missing = missingPrograms('baresip', 'sipp')
const test = suite('interop/phone-calls', { timeoutMs: 60_000, missing })
const [MEMBER_HZ, OTHER_HZ] = [700, 440]
const NUMBER = '+15551230001'

let product: Product
let trunk: Phone
test.before(async () => {
  // Not the shared product: numbers of other files stay there, and the first one is shown.
  product = await Product.start()
  trunk = await Phone.open('trunk')
  const { port } = new URL(trunk.uri.replace(/^sip:/, 'sip://'))
  await product.ok('POST', '/connections', { name: 'Carrier', kind: 'trunk', host: '127.0.0.1', port: Number(port) })
  await product.ok('POST', '/phone_numbers', { number: NUMBER })
})
test.after(async () => {
  await trunk?.close()
  await curtain(product)
})

let members = 0
async function newMember(extension: string | null = null): Promise<string> {
  const { user_id: userId } = await product.ok('POST', '/invitations', { email: `caller${++members}@example.com` })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active', ...(extension === null ? {} : { extension }) })
  return userId
}

/** A member with a phone that has registered over this transport. */
async function withPhone(
  transport: 'udp' | 'tcp',
  use: (member: { userId: string; phone: Baresip }) => Promise<void>,
  { password }: { password?: string } = {},
): Promise<void> {
  const userId = await newMember()
  const account = await product.ok('POST', `/users/${userId}/sip_credential`)
  const phone = await Baresip.start({
    toneHz: MEMBER_HZ,
    account: { ...account, ...(password === undefined ? {} : { password }), transport, everyS: 600 },
  })
  try {
    if (password === undefined) {
      await product.until('it is registered', async () =>
        (await product.ok('GET', `/users/${userId}/sip_credential`)).registrations.length === 0 ? null : true,
      )
    }
    await use({ userId, phone })
  } finally {
    await phone.stop()
  }
}

const addressed = (to: string): string => `sip:${to}@127.0.0.1:${product.sip.port}`

const statusOf = (userId: string, status: string) =>
  product.until(`the member is ${status}`, async () => {
    const agent = await product.ok('GET', `/agents/${userId}/status`)
    return agent.status === status ? agent : null
  })

async function isHeard(call: { heard: { next(ms: number): Promise<Int16Array> } }, hz: number): Promise<boolean> {
  for (let tries = 0; tries < 20; tries++) if (levelAt(hz, await call.heard.next(500)) > HEARD_DBOV) return true
  return false
}

/** Waits until the phone has heard the other end for a second. */
const hearsOther = (phone: Baresip): Promise<true> =>
  product.until('the phone hears the other end', async () => {
    const { samples } = phone.isDumping ? phone.dumpSoFar() : { samples: new Int16Array() }
    return samples.length >= 8000 && levelAt(OTHER_HZ, samples.slice(-8000)) > HEARD_DBOV ? true : null
  })

for (const transport of ['udp', 'tcp'] as const) {
  test(`a member's phone calls a number over ${transport}: through the trunk, from the organisation's number`, () =>
    withPhone(transport, async ({ userId, phone }) => {
      phone.dial(addressed('+15557654321'))
      const outside = await trunk.next()
      outside.answer()
      outside.say(tone(OTHER_HZ))
      assert.ok(await isHeard(outside, MEMBER_HZ), 'the other end hears the member')
      const agent = await statusOf(userId, 'busy')
      const call = await product.ok('GET', `/calls/${agent.call.call_id}`)
      assert.equal([call.direction, call.from, call.to], ['outbound', NUMBER, '+15557654321'])
      await product.until('it is told as answered', async () =>
        (await product.ok('GET', `/calls/${call.id}`)).status === 'in_progress' ? true : null,
      )
      await hearsOther(phone)
      phone.hangup()
      await outside.ended
      const ended = await product.until('it has ended', async () => {
        const now = await product.ok('GET', `/calls/${call.id}`)
        return now.status === 'completed' ? now : null
      })
      assert.is(ended.ended_reason, 'agent_hangup')
      await statusOf(userId, 'offline')
      assert.ok(levelAt(OTHER_HZ, (await phone.heard()).slice(-8000)) > HEARD_DBOV, 'the member hears the other end')
    }))
}

/** A call of the member's phone to a number, as the carrier gets it. */
async function callsOutside(phone: Baresip) {
  phone.dial(addressed('+15557654321'))
  return trunk.next()
}

for (const [status, shown] of [
  [486, '486'],
  [404, '404'],
  [480, '480'],
  // RFC 3261 §16.7: a 503 of ours would say that we can take no calls at all.
  [503, '500'],
] as const) {
  test(`a far end that answers ${status} has the phone refused with ${shown}: it never shows a connected call`, () =>
    withPhone('udp', async ({ phone }) => {
      const outside = await callsOutside(phone)
      outside.ring()
      await phone.until('CALL_RINGING')
      outside.reject(status)
      assert.match(String((await phone.until('CALL_CLOSED')).param), shown)
      assert.is(
        phone.events.some(({ type }) => type === 'CALL_ESTABLISHED'),
        false,
      )
    }))
}

test('a far end that takes longer to ring than we may to decide about a call is waited for', () =>
  withPhone('udp', async ({ userId, phone }) => {
    const outside = await callsOutside(phone)
    await sleep(5000)
    outside.ring()
    await phone.until('CALL_RINGING')
    outside.answer()
    await phone.until('CALL_ESTABLISHED')
    phone.hangup()
    await outside.ended
    await statusOf(userId, 'offline')
  }))

test("a phone that gives up while the far end rings cancels the far end's call too", () =>
  withPhone('udp', async ({ userId, phone }) => {
    const outside = await callsOutside(phone)
    outside.ring()
    await phone.until('CALL_RINGING')
    phone.hangup()
    await outside.ended
    assert.is(
      phone.events.some(({ type }) => type === 'CALL_ESTABLISHED'),
      false,
    )
    await statusOf(userId, 'offline')
  }))

test("the far end's early media is heard by the phone, which is answered with the far end's answer", () =>
  withPhone('udp', async ({ phone }) => {
    const outside = await callsOutside(phone)
    outside.early()
    outside.say(tone(OTHER_HZ))
    await phone.until('CALL_PROGRESS')
    await hearsOther(phone)
    assert.is(
      phone.events.some(({ type }) => type === 'CALL_ESTABLISHED'),
      false,
    )
    phone.hangup()
    await outside.ended
    assert.ok(levelAt(OTHER_HZ, (await phone.heard()).slice(-4000)) > HEARD_DBOV, 'the phone hears it')
  }))

test('a recorded call of a phone is recorded from its answer on, both parties, after early media too', () =>
  withPhone('udp', async ({ userId, phone }) => {
    await product.ok('PATCH', '/organisation', { record: true })
    const outside = await callsOutside(phone)
    await product.ok('PATCH', '/organisation', { record: null })
    outside.early()
    outside.say(tone(OTHER_HZ))
    await phone.until('CALL_PROGRESS')
    outside.answer()
    assert.ok(await isHeard(outside, MEMBER_HZ), 'the other end hears the member')
    const { call } = await statusOf(userId, 'busy')
    await outside.heard.next(1000)
    phone.hangup()
    await outside.ended
    const path = `/calls/${call.call_id}/recording`
    await product.until('it is kept', async () => ((await product.ok('GET', path)).status === 'ready' ? true : null))
    const wav = readWav(await product.download(`${path}/content`))
    if ('error' in wav) throw new Error(wav.error)
    for (const hz of [MEMBER_HZ, OTHER_HZ]) {
      const isThere = wav.samples.some(channel => levelAt(hz, channel.slice(-12_000, -4000)) > HEARD_DBOV)
      assert.ok(isThere, `${hz} Hz`)
    }
  }))

test('a phone that requires 100rel rings reliably, and its CANCEL is answered 487', async () => {
  const userId = await newMember()
  const account = await product.ok('POST', `/users/${userId}/sip_credential`)
  const keys = { username: account.username }
  const sipp = await Sipp.caller('phone-prack', product.sip, { to: '+15557654321', account, keys })
  const outside = await trunk.next()
  outside.ring()
  await sipp.passed()
  await outside.ended
  await statusOf(userId, 'offline')
})

test("a member's phone calls a colleague by the extension", () =>
  withPhone('udp', async ({ userId, phone }) => {
    const colleagueId = await newMember('201')
    const account = await product.ok('POST', `/users/${colleagueId}/sip_credential`)
    const colleague = await Baresip.start({
      toneHz: OTHER_HZ,
      answers: true,
      account: { ...account, transport: 'udp', everyS: 600 },
    })
    try {
      await product.until('it is registered', async () =>
        (await product.ok('GET', `/users/${colleagueId}/sip_credential`)).registrations.length === 0 ? null : true,
      )
      phone.dial(addressed('201'))
      await colleague.until('CALL_ESTABLISHED')
      const { call } = await statusOf(userId, 'busy')
      assert.is((await statusOf(colleagueId, 'busy')).call.call_id, call.call_id)
      phone.hangup()
      await colleague.until('CALL_CLOSED')
      await statusOf(userId, 'offline')
    } finally {
      await colleague.stop()
    }
  }))

test("a member's phone calls what an inbound route leads to, and nobody by a number that nobody has", () =>
  withPhone('udp', async ({ userId, phone }) => {
    await product.ok('POST', '/inbound_routes', { match: { to: 'mirror' }, target: { type: 'echo' } })
    phone.dial(addressed('112'))
    assert.match(String((await phone.until('CALL_CLOSED')).param), '404')
    phone.dial(addressed('mirror'))
    const { call } = await statusOf(userId, 'busy')
    assert.is((await product.ok('GET', `/calls/${call.call_id}`)).to, 'mirror')
    phone.hangup()
    await statusOf(userId, 'offline')
  }))

test('a phone dials as people do: national numbers need a country, and routes of its organisation come first', () =>
  withPhone('udp', async ({ userId, phone }) => {
    const called = async (digits: string) => {
      phone.events.length = 0
      phone.dial(addressed(digits))
      const outside = await trunk.next()
      const { call } = await statusOf(userId, 'busy')
      phone.hangup()
      await outside.ended
      await phone.until('CALL_CLOSED')
      await statusOf(userId, 'offline')
      return (await product.ok('GET', `/calls/${call.call_id}`)).to
    }
    const refused = async (digits: string) => {
      phone.events.length = 0
      phone.dial(addressed(digits))
      return String((await phone.until('CALL_CLOSED')).param)
    }
    assert.is(await called('0049301234567'), '+49301234567')
    assert.match(await refused('0301234567'), '404 National numbers need a `country`')
    await product.ok('PATCH', '/organisation', { country: 'DE' })
    try {
      for (const digits of ['0301234567', '0049301234567']) {
        assert.is(await called(digits), '+49301234567', digits)
      }
      // Without the zero it is a number of the caller's town, and 110 is a call for help.
      for (const digits of ['301234567', '110', '112', '00112']) assert.match(await refused(digits), '404', digits)
      await product.ok('POST', '/inbound_routes', { match: { to: '+49309876543' }, target: { type: 'echo' } })
      phone.events.length = 0
      phone.dial(addressed('0309876543'))
      const { call } = await statusOf(userId, 'busy')
      assert.is((await product.ok('GET', `/calls/${call.call_id}`)).direction, 'inbound')
      phone.hangup()
      await phone.until('CALL_CLOSED')
      await statusOf(userId, 'offline')
    } finally {
      await product.ok('PATCH', '/organisation', { country: null })
    }
  }))

test('a phone with a wrong password calls nobody', () =>
  withPhone(
    'udp',
    async ({ phone }) => {
      phone.dial(addressed('+15557654321'))
      assert.match(String((await phone.until('CALL_CLOSED')).param), '403')
    },
    { password: 'guessed' },
  ))

test.run()
