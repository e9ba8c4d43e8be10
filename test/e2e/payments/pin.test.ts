// Sleeps most: it waits most of the time, and judges only sounds that last.
import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { memberNamed } from '../../../bench/members.ts'
import { type DialOptions, Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { readWav } from '../../../codecs/wav.ts'
import { callFrom, endedCall, longestCopy, newRoom, octetsSent, type TestRoom } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

// Seven keys or more: a sequence of four occurs by chance in any log with times in milliseconds.
const PIN = '4711471'
const MODERATOR_PIN = '99887766'
const WRONG_PINS = ['5555012', '6666012', '7777012']
const SLOW = { timeoutMs: 90_000, together: true }

const test = sharedSuite('e2e/payments/pin')
let room: TestRoom
let silentCaller: { phone: Phone; call: PhoneCall }

test.before(async () => {
  room = await newRoom(product, { pin: PIN, moderator_pin: MODERATOR_PIN })
  // Takes longest: it waits while the others run.
  silentCaller = await callIn('nokeys')
})

/** Lets a phone call; resolves when it hears the beginning of the greeting. */
async function callIn(name: string, options: DialOptions = {}): Promise<{ phone: Phone; call: PhoneCall }> {
  const phone = await Phone.open(name)
  const call = await phone.call(room.number, product.sip, options)
  await call.heard.next(300)
  return { phone, call }
}

const roleOf = async (name: string): Promise<string> => (await memberNamed(product, room.roomId, name)).role

/** Whether most of a recorded phrase was heard in a PCMU call, from a packet on. */
function heardPhrase(call: PhoneCall, name: string, from = 0): boolean {
  const wav = readWav(readFileSync(new URL(`../../../fixtures/prompts/${name}.wav`, import.meta.url)))
  if ('error' in wav) throw new Error(wav.error)
  const phrase = new Uint8Array(wav.samples[0]!.length)
  PCMU.encode(wav.samples[0]!, phrase)
  return longestCopy(phrase, octetsSent(call, from)) > phrase.length / 2
}

test(
  'the right PIN seats a caller as a member, also without #; the first key ends the greeting',
  async () => {
    const { phone, call } = await callIn('member')
    await call.press(PIN)
    assert.is(await roleOf('member'), 'member')
    assert.not.ok(heardPhrase(call, 'enter-pin'))
    await phone.close()
  },
  SLOW,
)

test(
  'the moderator PIN seats a caller as a moderator',
  async () => {
    const { phone, call } = await callIn('moderator')
    await call.press(MODERATOR_PIN)
    assert.is(await roleOf('moderator'), 'moderator')
    await phone.close()
  },
  SLOW,
)

test(
  'RFC 4733: every key is read once although the marker bit, the first packet and all end packets are lost',
  async () => {
    const { phone, call } = await callIn('lossy')
    await call.press(`${PIN}#`, { as: 'rfc4733', lose: ['marker', 'first', 'ends'], gapMs: 200 })
    assert.is(await roleOf('lossy'), 'member')
    await phone.close()
  },
  SLOW,
)

test(
  'keys as tones in the audio are read where telephone events were not agreed on, in PCMA too',
  async () => {
    const { phone, call } = await callIn('tones', { telephoneEvent: false, codecs: ['PCMA'] })
    await call.press(`${PIN}#`, { as: 'inband' })
    assert.is(await roleOf('tones'), 'member')
    await phone.close()
  },
  SLOW,
)

test(
  'keys by SIP INFO are read',
  async () => {
    const { phone, call } = await callIn('info')
    await call.press(`${PIN}#`, { as: 'info' })
    assert.is(await roleOf('info'), 'member')
    await phone.close()
  },
  SLOW,
)

test(
  'three wrong PINs are told and end the call; no digit of a PIN is in an event or log',
  async () => {
    const { phone, call } = await callIn('wrong')
    // A key stops the prompt, so it is pressed only after the prompt was heard, however late it comes.
    for (const pin of WRONG_PINS.slice(0, 2)) {
      const from = call.packets.length
      await call.press(`${pin}#`)
      await product.until('it is told that the PIN is wrong', async () =>
        heardPhrase(call, 'wrong-pin', from) ? true : null,
      )
    }
    await call.press(`${WRONG_PINS[2]}#`)
    assert.is((await call.ended).by, 'remote')
    assert.ok(heardPhrase(call, 'wrong-pin'), 'it is told that the PIN is wrong')
    assert.ok(heardPhrase(call, 'too-many-tries'), 'it is told why the call ends')
    const ended = await endedCall(product, (await callFrom(product, 'wrong')).id)
    assert.is(ended.ended_reason, 'rejected')
    const keys = (await product.all('/events?type=call.dtmf')).map(({ data }) => data.object)
    assert.ok(keys.length > 12)
    assert.equal([...new Set(keys.map(({ digit, masked }) => `${digit} ${masked}`))], ['* true'])
    for (const pin of [PIN, MODERATOR_PIN, ...WRONG_PINS]) assert.not.ok(product.output.includes(pin), pin)
    await phone.close()
  },
  SLOW,
)

test(
  'a caller who enters nothing is asked three times and then hung up on',
  async () => {
    const { call } = silentCaller
    assert.is((await call.ended).by, 'remote')
    assert.ok(heardPhrase(call, 'enter-pin') && heardPhrase(call, 'wrong-pin') && heardPhrase(call, 'too-many-tries'))
    assert.is((await endedCall(product, (await callFrom(product, 'nokeys')).id)).ended_reason, 'rejected')
  },
  { timeoutMs: 120_000 },
)

test.run()
