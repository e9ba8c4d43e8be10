import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { untilQuiet } from '../../bench/members.ts'
import { Phone } from '../../bench/phone.ts'
import type { PhoneCodec } from '../../bench/phone-call.ts'
import { Product } from '../../bench/product.ts'
import { levelAt, loudness } from '../../bench/spectrum.ts'
import { noise, samplesOf, tone } from '../../bench/voices.ts'
import { encodeUlaw } from '../../codecs/ulaw.ts'
import { readWav } from '../../codecs/wav.ts'
import { suite } from '../harness.ts'
import {
  callFrom,
  callsOf,
  curtain,
  endedCall,
  HEARD_DBOV,
  leave,
  longestCopy,
  newRoom,
  type Seated,
  seat,
  UNHEARD_DBOV,
} from './scene.ts'

const test = suite('e2e/room')
const SLOW = { timeoutMs: 60_000 }
const TOGETHER = { ...SLOW, together: true }
let product: Product

test.before(async () => {
  product = await Product.start()
})
test.after(() => curtain(product))

const PARTIES: { name: string; hz: number; codec: PhoneCodec }[] = [
  { name: 'anna', hz: 330, codec: 'PCMU' },
  { name: 'ben', hz: 440, codec: 'PCMA' },
  { name: 'cleo', hz: 550, codec: 'PCMU' },
]

/** Three in a room of their own, silent and quiet. */
async function threeSeated(): Promise<Seated[]> {
  const room = await newRoom(product)
  const seated = await Promise.all(PARTIES.map(({ name, codec }) => seat(product, room, name, { codecs: [codec] })))
  await untilQuiet(callsOf(seated))
  return seated
}

const speak = (seated: readonly Seated[]): void => {
  for (const [i, { call }] of seated.entries()) call.say(tone(PARTIES[i]!.hz))
}

/** The level of each party's tone in the next second of one of them. */
async function hears(listener: Seated, afterMs = 300): Promise<number[]> {
  const second = await listener.call.heard.next(1000, afterMs)
  return PARTIES.map(({ hz }) => levelAt(hz, second))
}

test(
  'SIP parties in one room hear each other and not themselves, over a whole second each, by frequency, PCMU and PCMA together',
  async () => {
    const seated = await threeSeated()
    speak(seated)
    const levels = await Promise.all(seated.map(one => hears(one)))
    for (const [listener, row] of levels.entries()) {
      for (const [speaker, level] of row.entries()) {
        const what = `${PARTIES[listener]!.name} hears ${PARTIES[speaker]!.name} at ${level.toFixed(1)} dBov`
        assert.ok(listener === speaker ? level < UNHEARD_DBOV : level > HEARD_DBOV, what)
      }
    }
    await leave(...seated)
  },
  TOGETHER,
)

test(
  'mute, deaf and remove over REST: who hears whom follows, and nobody else notices',
  async () => {
    const seated = await threeSeated()
    const [anna, ben, cleo] = seated as [Seated, Seated, Seated]
    speak(seated)
    const path = (one: Seated): string => `${roomPath}/participants/${one.participantId}`
    const { room_id: roomId } = await product.ok('GET', `/calls/${anna.sessionId}`)
    const roomPath = `/conference_rooms/${roomId}`

    assert.is((await product.ok('PATCH', path(anna), { muted: true })).muted, true)
    let [toBen, toAnna] = await Promise.all([hears(ben), hears(anna)])
    assert.ok(toBen[0]! < UNHEARD_DBOV && toBen[2]! > HEARD_DBOV, `anna is muted: ben hears ${toBen}`)
    assert.ok(toAnna[1]! > HEARD_DBOV && toAnna[2]! > HEARD_DBOV, 'who is muted still hears')

    assert.is((await product.ok('PATCH', path(anna), { muted: false, deaf: true })).deaf, true)
    ;[toBen, toAnna] = await Promise.all([hears(ben), hears(anna)])
    assert.ok(toBen[0]! > HEARD_DBOV, 'who is deaf is heard')
    assert.ok(
      toAnna.every(level => level < UNHEARD_DBOV),
      `who is deaf hears nobody: ${toAnna}`,
    )

    await product.ok('DELETE', path(cleo))
    assert.is((await cleo.call.ended).by, 'remote')
    toBen = await hears(ben)
    assert.ok(toBen[2]! < UNHEARD_DBOV && toBen[0]! > HEARD_DBOV, 'who is removed is heard no more')
    assert.is((await endedCall(product, cleo.callId)).ended_reason, 'api_hangup')
    await leave(...seated)
  },
  TOGETHER,
)

test(
  'an echo gives every PCMU octet back as it was said',
  async () => {
    const phone = await Phone.open('echo-caller')
    const call = await phone.call('1002', product.sip)
    await call.heard.next(500)
    // Past the greeting of the echo: what comes back then is the caller alone.
    await untilQuiet([call])
    call.say(noise(7))
    await call.heard.next(2500)
    const copied = longestCopy(call.said.octets(), call.heard.octets())
    assert.ok(copied >= 8000, `${copied} octets in a row are the same`)
    await phone.close()
  },
  SLOW,
)

for (const codec of ['PCMU', 'PCMA'] as const) {
  test(
    `the announcement is heard sample by sample as it was recorded, then the product hangs up (${codec})`,
    async () => {
      const file = readFileSync(new URL('../../fixtures/prompts/announcement.wav', import.meta.url))
      const wav = readWav(file)
      if ('error' in wav) throw new Error(wav.error)
      const phone = await Phone.open(`announced-${codec.toLowerCase()}`)
      const call = await phone.call('1003', product.sip, { codecs: [codec] })
      assert.is((await call.ended).by, 'remote')
      if (codec === 'PCMU') {
        const recorded = new Uint8Array(wav.samples[0]!.length)
        encodeUlaw(wav.samples[0]!, recorded)
        assert.ok(
          longestCopy(recorded, call.heard.octets()) > recorded.length - 800,
          'the recording is in what was heard',
        )
      } else assert.ok(loudness(call.heard.samples()) > -40, 'somebody speaks')
      const ended = await endedCall(product, (await callFrom(product, phone.name)).id)
      assert.is(ended.status, 'completed')
      assert.is(ended.ended_reason, 'announcement_ended')
      await phone.close()
    },
    TOGETHER,
  )
}

test(
  'POST /calls dials a SIP phone and joins it to a room when it answers',
  async () => {
    const room = await newRoom(product)
    const anna = await seat(product, room, 'anna2')
    const callee = await Phone.open('callee', { codecs: ['PCMA'] })
    const placed = await product.ok('POST', '/calls', { to: callee.uri, room_id: room.roomId })
    assert.is(placed.direction, 'outbound')
    const call = await callee.next()
    call.ring()
    await product.until('the call rings', async () =>
      (await product.ok('GET', `/calls/${placed.id}`)).status === 'ringing' ? true : null,
    )
    call.answer()
    await product.until('the call is answered', async () =>
      (await product.ok('GET', `/calls/${placed.id}`)).status === 'in_progress' ? true : null,
    )
    await untilQuiet([anna.call, call])
    anna.call.say(tone(330))
    call.say(tone(440))
    const [atAnna, atCallee] = await Promise.all([anna.call.heard.next(1000, 300), call.heard.next(1000, 300)])
    assert.ok(levelAt(440, atAnna) > HEARD_DBOV && levelAt(330, atAnna) < UNHEARD_DBOV)
    assert.ok(levelAt(330, atCallee) > HEARD_DBOV && levelAt(440, atCallee) < UNHEARD_DBOV)
    await product.ok('POST', `/calls/${placed.id}/hangup`)
    assert.is((await call.ended).by, 'remote')
    assert.is((await endedCall(product, placed.id)).ended_reason, 'api_hangup')
    await leave(anna, { phone: callee })
  },
  TOGETHER,
)

test(
  'what one says in PCMU arrives at another in PCMU octet by octet, and in PCMA as loud',
  async () => {
    const room = await newRoom(product)
    const anna = await seat(product, room, 'exact-u', { codecs: ['PCMU'] })
    const other = await seat(product, room, 'exact-u2', { codecs: ['PCMU'] })
    await untilQuiet(callsOf([anna, other]))
    const speech = new Int16Array(16_000)
    noise(3)(speech)
    anna.call.say(samplesOf(speech))
    await other.call.heard.next(2300)
    assert.ok(longestCopy(anna.call.said.octets(), other.call.heard.octets()) >= 8000, 'PCMU to PCMU is exact')
    const ben = await seat(product, room, 'exact-a', { codecs: ['PCMA'] })
    anna.call.say(noise(3))
    const [toBen, toOther] = await Promise.all([ben.call.heard.next(1000, 300), other.call.heard.next(1000, 300)])
    const difference = loudness(toBen) - loudness(toOther)
    assert.ok(Math.abs(difference) < 0.5, `PCMA is as loud as PCMU: ${difference.toFixed(2)} dB`)
    await leave(anna, ben, other)
  },
  SLOW,
)

test.run()
