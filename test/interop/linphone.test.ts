import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { HEARD_DBOV } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Linphone, type LinphoneOptions } from './peers/linphone.ts'

const missing = missingPrograms('linphone-daemon')
const test = sharedSuite('interop/linphone', { timeoutMs: 60_000, missing })
const MEMBER_HZ = 700
const NUMBER = '+15557654321'
const OTHER = '+493055555555'

/** The party that is called over the trunk. */
let carrier: Phone
test.before(async () => {
  carrier = await Phone.open('carrier')
  const { port } = new URL(carrier.uri.replace(/^sip:/, 'sip://'))
  await product.ok('POST', '/connections', { name: 'Carrier', kind: 'trunk', host: '127.0.0.1', port: Number(port) })
  await product.ok('POST', '/phone_numbers', { number: '+15551230001' })
})

let members = 0

/** A member whose Linphone has registered. */
async function withPhone(
  options: Partial<LinphoneOptions>,
  use: (phone: Linphone, extension: string) => Promise<void>,
): Promise<void> {
  const extension = `55${++members}`
  const { user_id: userId } = await product.ok('POST', '/invitations', { email: `lin${members}@example.com` })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active', extension })
  const account = await product.ok('POST', `/users/${userId}/sip_credential`)
  const phone = await Linphone.start({ toneHz: MEMBER_HZ, ...options })
  try {
    await phone.register(account)
    await product.until('it is registered', async () =>
      (await product.ok('GET', `/users/${userId}/sip_credential`)).registrations.length === 0 ? null : true,
    )
    await use(phone, extension)
  } finally {
    await phone.stop()
  }
}

const addressed = (to: string): string => `sip:${to}@127.0.0.1:${product.sip.port}`

/** Whether a tone is heard, or with `isThere` false no longer heard, within some time. */
async function hears(call: PhoneCall, hz: number, isThere = true): Promise<boolean> {
  for (let tries = 0; tries < 30; tries++) {
    if (levelAt(hz, await call.heard.next(300)) > HEARD_DBOV === isThere) return true
  }
  return false
}

/** Lets the phone call over the trunk. @returns Linphone's number of the call, and the other end */
async function talk(phone: Linphone, to: string, hz: number): Promise<{ id: string; outside: PhoneCall }> {
  const calling = phone.call(addressed(to))
  const outside = await carrier.next()
  outside.answer()
  outside.say(tone(hz))
  return { id: await calling, outside }
}

test('Linphone registers, calls, is heard, puts on hold, comes back, presses a key and hangs up', () =>
  withPhone({}, async phone => {
    const { id, outside } = await talk(phone, NUMBER, 440)
    assert.ok(await hears(outside, MEMBER_HZ), 'it is heard')
    await phone.command(`call-pause ${id}`)
    await phone.until(id, 'Paused')
    assert.ok(await hears(outside, MEMBER_HZ, false), 'on hold it is not')
    await phone.command(`call-resume ${id}`)
    await phone.until(id, 'StreamsRunning')
    await phone.speak(id)
    assert.ok(await hears(outside, MEMBER_HZ), 'it is heard again')
    await phone.command('dtmf 5')
    await product.until('the key is told', async () => (outside.keysHeard === '5' ? true : null))
    await phone.command(`terminate ${id}`)
    await outside.ended
  }))

for (const [how, options] of Object.entries<Partial<LinphoneOptions>>({
  '': {},
  ', with SRTP and nothing else': { srtp: 'srtp', insists: true },
  ', with keys by DTLS and nothing else': { srtp: 'dtls', insists: true },
})) {
  test(`Linphone is called by its extension, takes the call and talks${how}`, () =>
    withPhone({ answers: true, ...options }, (called, extension) =>
      withPhone({}, async phone => {
        const id = await phone.call(addressed(extension))
        await called.speak(await called.taken())
        const { data } = await product.ok('GET', '/calls?status=in_progress')
        await product.until('both are heard', async () => {
          const { quality } = await product.ok('GET', `/calls/${data[0].id}`)
          const heard = quality.filter((leg: { packets_received: number }) => leg.packets_received > 50)
          return heard.length === 2 ? true : null
        })
        await phone.command(`terminate ${id}`)
        await phone.until(id, 'Released')
      }),
    ))
}

test('Linphone transfers blind: whom it names is called, and the other two talk', () =>
  withPhone({}, async phone => {
    const { id, outside } = await talk(phone, NUMBER, 440)
    assert.ok(await hears(outside, MEMBER_HZ))
    await phone.command(`call-transfer ${id} ${addressed(OTHER)}`)
    const target = await carrier.next()
    target.answer()
    target.say(tone(600))
    assert.equal([await hears(outside, 600), await hears(target, 440)], [true, true])
    await phone.until(id, 'Released')
    await outside.hangup()
    await target.ended
  }))

test('Linphone transfers attended: both others are brought together, and it is out of both', () =>
  withPhone({}, async phone => {
    const first = await talk(phone, NUMBER, 440)
    await phone.command(`call-pause ${first.id}`)
    await phone.until(first.id, 'Paused')
    const second = await talk(phone, OTHER, 600)
    assert.ok(await hears(second.outside, MEMBER_HZ))
    await phone.command(`call-transfer ${first.id} ${second.id}`)
    assert.equal([await hears(first.outside, 600), await hears(second.outside, 440)], [true, true])
    await phone.until(first.id, 'Released')
    await phone.until(second.id, 'Released')
    await first.outside.hangup()
    await second.outside.ended
  }))

for (const [sentence, isFirst] of [
  ['Linphone is consulted about a call, and gets it', false],
  ['Linphone is transferred by a colleague who has consulted somebody outside', true],
] as const) {
  test(sentence, () =>
    withPhone({ answers: true, toneHz: 900 }, (bob, extension) =>
      withPhone({}, async phone => {
        let ofBob = ''
        const callBob = async (): Promise<string> => {
          const id = await phone.call(addressed(extension))
          ofBob = await bob.taken()
          await bob.speak(ofBob)
          return id
        }
        const pause = async (id: string): Promise<void> => {
          await phone.command(`call-pause ${id}`)
          await phone.until(id, 'Paused')
        }
        const early = isFirst ? await callBob() : null
        if (early !== null) {
          await pause(early)
          // We have told Bob's phone that it is on hold, and it hears our music.
          await bob.until(ofBob, 'PausedByRemote')
        }
        const { id, outside } = await talk(phone, NUMBER, 440)
        assert.ok(await hears(outside, MEMBER_HZ))
        if (early === null) await pause(id)
        const withBob = early ?? (await callBob())
        const [first, second] = isFirst ? [withBob, id] : [id, withBob]
        await phone.command(`call-transfer ${first} ${second}`)
        if (isFirst) {
          // After a hold, Linphone has to be told to play its file again.
          await bob.until(ofBob, 'StreamsRunning')
          await bob.speak(ofBob)
        }
        assert.ok(await hears(outside, 900), 'Bob and who is outside talk')
        await phone.until(first, 'Released')
        await phone.until(second, 'Released')
        await outside.hangup()
        await bob.until(ofBob, 'Released')
      }),
    ),
  )
}

for (const srtp of ['srtp', 'dtls'] as const) {
  test(`Linphone with SRTP is heard, also after a hold: ${srtp}`, () =>
    withPhone({ srtp }, async phone => {
      const { id, outside } = await talk(phone, NUMBER, 440)
      assert.ok(await hears(outside, MEMBER_HZ))
      await phone.command(`call-pause ${id}`)
      await phone.until(id, 'Paused')
      await phone.command(`call-resume ${id}`)
      await phone.until(id, 'StreamsRunning')
      await phone.speak(id)
      assert.ok(await hears(outside, MEMBER_HZ), 'after the hold')
      await phone.command(`terminate ${id}`)
      await outside.ended
    }))
}

test.run()
