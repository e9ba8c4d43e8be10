import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { untilQuiet } from '../../bench/members.ts'
import { Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall, PhoneCodec } from '../../bench/phone/phone-call.ts'
import { levelAt, loudness } from '../../bench/spectrum.ts'
import { noise, tone } from '../../bench/voices.ts'
import { PCMU } from '../../codecs/g711.ts'
import { readWav } from '../../codecs/wav.ts'
import { sharpest } from '../media/engine/party.ts'
import {
  callFrom,
  callsOf,
  endedCall,
  HEARD_DBOV,
  leave,
  longestCopy,
  newRoom,
  octetsSent,
  type Seated,
  seat,
  UNHEARD_DBOV,
} from './scene.ts'
import { product, sharedSuite } from './shared-suite.ts'

const test = sharedSuite('e2e/room')
const SECOND = 8000
/** A tone of -6 dB, and our music, bend less, and the tone mostly more where it is cut. */
const CUT = 3500
const SLOW = { timeoutMs: 60_000 }
const TOGETHER = { ...SLOW, together: true }

const PARTIES: { name: string; hz: number; codec: PhoneCodec }[] = [
  { name: 'anna', hz: 330, codec: 'PCMU' },
  { name: 'ben', hz: 440, codec: 'PCMA' },
  { name: 'cleo', hz: 550, codec: 'PCMU' },
]

/** Puts three silent phones into a room of their own, and waits until it is quiet. */
async function threeSeated(): Promise<Seated[]> {
  const room = await newRoom(product)
  const seated = await Promise.all(PARTIES.map(({ name, codec }) => seat(product, room, name, { codecs: [codec] })))
  await untilQuiet(callsOf(seated))
  return seated
}

const speak = (seated: readonly Seated[]): void => {
  for (const [i, { call }] of seated.entries()) call.say(tone(PARTIES[i]!.hz))
}

/** Maximum number of seconds until one is as it must be: on a busy machine the test itself sends frames too late. */
const TRIES = 12

/** Waits until a listener hears these parties, and no other, for a whole second. */
async function hears(listener: Pick<Seated, 'phone' | 'call'>, ...expected: string[]): Promise<void> {
  let levels: number[] = []
  for (let tries = 0; tries < TRIES; tries++) {
    const second = await listener.call.heard.next(1000, 300)
    levels = PARTIES.map(({ hz }) => levelAt(hz, second))
    const isRight = (level: number, i: number): boolean =>
      expected.includes(PARTIES[i]!.name) ? level > HEARD_DBOV : level < UNHEARD_DBOV
    if (levels.every(isRight)) return
  }
  assert.unreachable(`${listener.phone.name} hears ${levels.map(level => level.toFixed(1))} dBov, not ${expected}`)
}

/** Waits until this number of octets in a row is heard as it was said. */
async function arriveExactly(from: PhoneCall, to: PhoneCall, octets: number): Promise<void> {
  let longest = 0
  for (let tries = 0; tries < TRIES && longest < octets; tries++) {
    await to.heard.next(1000)
    longest = longestCopy(from.said.octets(), to.heard.octets())
  }
  assert.ok(longest >= octets, `${longest} octets in a row are the same`)
}

test(
  'SIP parties in one room hear each other and not themselves, over a whole second each, by frequency, PCMU and PCMA together',
  async () => {
    const seated = await threeSeated()
    speak(seated)
    const names = PARTIES.map(({ name }) => name)
    await Promise.all(seated.map((one, i) => hears(one, ...names.filter(name => name !== names[i]))))
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
    await Promise.all([hears(ben, 'cleo'), hears(anna, 'ben', 'cleo')])

    assert.is((await product.ok('PATCH', path(anna), { muted: false, deaf: true })).deaf, true)
    await Promise.all([hears(ben, 'anna', 'cleo'), hears(anna)])

    await product.ok('DELETE', path(cleo))
    assert.is((await cleo.call.ended).by, 'remote')
    await hears(ben, 'anna')
    assert.is((await endedCall(product, cleo.callId)).ended_reason, 'api_hangup')
    await leave(...seated)
  },
  TOGETHER,
)

test(
  'conference.ended has the figures of everybody who was there, the last to leave too, as the session has them then',
  async () => {
    const seated = await threeSeated()
    speak(seated)
    await seated[0]!.call.heard.next(1000)
    const [{ sessionId }] = seated as [Seated, ...Seated[]]
    for (const { call, callId } of seated) {
      await call.hangup()
      await endedCall(product, callId)
    }
    const ended = await product.until('the session ends', async () =>
      (await product.all(`/calls/${sessionId}/events`)).find(({ type }) => type === 'conference.ended'),
    )
    const { quality } = ended.data.object
    assert.equal(
      quality.map((one: { participant_id: string }) => one.participant_id).sort(),
      seated.map(one => one.participantId).sort(),
    )
    for (const { packets_received } of quality) assert.ok(packets_received > 50, String(packets_received))
    assert.equal(quality, (await product.ok('GET', `/calls/${sessionId}`)).quality)
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
    // Until the echo's greeting is over: after it, only the caller's audio comes back.
    await untilQuiet([call])
    call.say(noise(7))
    await arriveExactly(call, call, 8000)
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
        PCMU.encode(wav.samples[0]!, recorded)
        assert.ok(longestCopy(recorded, octetsSent(call)) > recorded.length - 800, 'the recording is in what was heard')
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
    await Promise.all([hears(anna, 'ben'), hears({ phone: callee, call }, 'anna')])
    await product.ok('POST', `/calls/${placed.id}/hangup`)
    assert.is((await call.ended).by, 'remote')
    assert.is((await endedCall(product, placed.id)).ended_reason, 'api_hangup')
    await leave(anna, { phone: callee })
  },
  TOGETHER,
)

test(
  'of two whose packets are relayed, who hangs up in the middle of a tone fades out for the other',
  async () => {
    const room = await newRoom(product)
    const ben = await seat(product, room, 'stays')
    // Until the announcement that nobody else is here is over, too: only music follows, which has no sharp bends.
    await ben.call.heard.next(500, 6000)
    const bends: number[] = []
    for (let n = 0; n < 4; n++) {
      const anna = await seat(product, room, `goes-${n}`)
      anna.call.say(tone(215, -6))
      await ben.call.heard.next(500, 2000)
      await leave(anna)
      const from = ben.call.heard.length - SECOND / 5
      await ben.call.heard.next(500)
      bends.push(sharpest(ben.call.heard.samples(from)))
    }
    assert.ok(Math.max(...bends) < CUT, bends.join())
    await leave(ben)
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
    anna.call.say(noise(3))
    await arriveExactly(anna.call, other.call, 8000)
    const ben = await seat(product, room, 'exact-a', { codecs: ['PCMA'] })
    let difference = Number.POSITIVE_INFINITY
    for (let tries = 0; tries < TRIES && Math.abs(difference) >= 0.5; tries++) {
      const [toBen, toOther] = await Promise.all([ben.call.heard.next(1000, 300), other.call.heard.next(1000, 300)])
      difference = loudness(toBen) - loudness(toOther)
    }
    assert.ok(Math.abs(difference) < 0.5, `PCMA is as loud as PCMU: ${difference.toFixed(2)} dB`)
    await leave(anna, ben, other)
  },
  SLOW,
)

test.run()
