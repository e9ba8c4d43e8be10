import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import { audibleSamples, levelAt, loudness } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { dtmfTone } from '../../codecs/tones.ts'
import { wavHeader } from '../../codecs/wav.ts'
import { callFrom, endedCall, HEARD_DBOV, invited, UNHEARD_DBOV } from './scene.ts'
import { product, sharedSuite } from './shared-suite.ts'

const test = sharedSuite('e2e/queue-agents')
const WAITING = { timeoutMs: 60_000, together: true }
const CALLER_HZ = 440
const AGENT_HZ = 700
const SUPERVISOR_HZ = 900
/** Frequency of ringing and busy tone, and their minimum level. */
const TONE_HZ = 425
const TONE_DBOV = -25

interface Agent {
  userId: string
  phones: Phone[]
}

/** A member with registered SIP phones, available. */
async function newAgent(...names: string[]): Promise<Agent> {
  const { userId, account } = await invited(product, `${names[0]}@example.com`)
  const phones: Phone[] = []
  for (const name of names) {
    const phone = await Phone.open(name)
    await phone.register(account, product.sip)
    phones.push(phone)
  }
  await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
  return { userId, phones }
}

let nextNumber = 4400
/** A queue, and the number that leads to it. */
async function newQueue(fields: object): Promise<{ id: string; number: string }> {
  const number = String(nextNumber++)
  const { id } = await product.ok('POST', '/queues', { name: `Queue ${number}`, ...fields })
  await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'queue', id } })
  return { id, number }
}

async function caller(name: string, number: string): Promise<PhoneCall> {
  const phone = await Phone.open(name)
  const call = await phone.call(number, product.sip)
  call.say(tone(CALLER_HZ))
  return call
}

const statusIs = (userId: string, status: string) =>
  product.until(`the agent is ${status}`, async () =>
    (await product.ok('GET', `/agents/${userId}/status`)).status === status ? true : null,
  )

const typesOf = async (callId: string): Promise<string[]> =>
  (await product.all(`/calls/${callId}/events`)).map(({ type }) => type)

type Heard = Record<string, PhoneCall>
const VOICES: Record<string, number> = { caller: CALLER_HZ, agent: AGENT_HZ, supervisor: SUPERVISOR_HZ }

/** Waits until each hears whom it is to hear, and nobody else, for a whole second. */
async function hearing(calls: Heard, expected: Record<string, string[]>): Promise<void> {
  let found: Record<string, string[]> = {}
  for (let tries = 0; tries < 12; tries++) {
    const windows = await Promise.all(Object.values(calls).map(call => call.heard.next(1000)))
    const heard = Object.keys(calls).map((name, n) => {
      const levels = Object.entries(VOICES).map(([of, hz]) => ({ of, level: levelAt(hz, windows[n]!) }))
      const clear = levels.filter(({ level }) => level > HEARD_DBOV || level < UNHEARD_DBOV)
      const voices = levels.filter(({ level }) => level > HEARD_DBOV).map(({ of }) => of)
      return [name, clear.length === levels.length ? voices : ['in between']]
    })
    found = Object.fromEntries(heard)
    if (JSON.stringify(found) === JSON.stringify(expected)) return
  }
  assert.equal(found, expected)
}

test(
  'supervise: monitor is heard by nobody, whisper by the agent, barge by all; a busy agent is offered no second call, and has wrap-up',
  async () => {
    const { userId, phones } = await newAgent('ann')
    const listener = await newAgent('sue')
    const { number } = await newQueue({ member_user_ids: [userId], wrap_up_seconds: 300 })
    const atCaller = await caller('supervised', number)
    const atAgent = await phones[0]!.next()
    atAgent.answer()
    atAgent.say(tone(AGENT_HZ))
    await hearing({ caller: atCaller, agent: atAgent }, { caller: ['agent'], agent: ['caller'] })
    const { id } = await callFrom(product, 'supervised')
    await statusIs(userId, 'busy')

    const second = await caller('second', number)
    const { id: secondId } = await callFrom(product, 'second')
    const supervise = (mode: string) => product.ok('POST', `/calls/${id}/supervise`, { mode, user_id: listener.userId })
    await supervise('monitor')
    const atSupervisor = await listener.phones[0]!.next()
    atSupervisor.answer()
    atSupervisor.say(tone(SUPERVISOR_HZ))
    const all = { caller: atCaller, agent: atAgent, supervisor: atSupervisor }
    await hearing(all, { caller: ['agent'], agent: ['caller'], supervisor: ['caller', 'agent'] })
    await supervise('whisper')
    await hearing(all, { caller: ['agent'], agent: ['caller', 'supervisor'], supervisor: ['caller', 'agent'] })
    await supervise('barge')
    await hearing(all, {
      caller: ['agent', 'supervisor'],
      agent: ['caller', 'supervisor'],
      supervisor: ['caller', 'agent'],
    })
    await supervise('stop')
    await atSupervisor.ended
    await hearing({ caller: atCaller, agent: atAgent }, { caller: ['agent'], agent: ['caller'] })

    assert.not((await typesOf(secondId)).includes('queue.call.offered'), 'who talks is offered nothing')
    await atAgent.hangup()
    assert.is((await endedCall(product, id)).ended_reason, 'agent_hangup')
    await statusIs(userId, 'wrap_up')
    assert.not((await typesOf(secondId)).includes('queue.call.offered'), 'nor in wrap-up')
    await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
    const next = await phones[0]!.next()
    next.answer()
    await second.hangup()
    await next.ended
  },
  WAITING,
)

test(
  "ring time-out to the next agent, away on missed; a phone that is busy (486) is the next one's turn at once",
  async () => {
    const deaf = await newAgent('deaf')
    const busy = await newAgent('busy')
    const last = await newAgent('last')
    const { number } = await newQueue({
      member_user_ids: [deaf.userId, busy.userId, last.userId],
      ring_timeout_seconds: 5,
      away_on_missed: true,
    })
    const atCaller = await caller('patient', number)
    const unanswered = await deaf.phones[0]!.next()
    unanswered.ring()
    const { cause, reasonHeader } = await unanswered.ended
    assert.is(cause, 'cancel')
    assert.not.match(String(reasonHeader), /^SIP/, 'it shows a missed call')
    const refused = await busy.phones[0]!.next()
    refused.reject(486)
    const answered = await last.phones[0]!.next()
    answered.answer()
    answered.say(tone(AGENT_HZ))
    await hearing({ caller: atCaller, agent: answered }, { caller: ['agent'], agent: ['caller'] })
    await statusIs(deaf.userId, 'away')
    await statusIs(busy.userId, 'available')
    await atCaller.hangup()
    await answered.ended
    await statusIs(last.userId, 'available')
  },
  WAITING,
)

test(
  "all of an agent's phones ring at once; when one has answered the others are told that the call was completed elsewhere (RFC 3326)",
  async () => {
    const { userId, phones } = await newAgent('desk', 'pocket')
    const [desk, pocket] = phones as [Phone, Phone]
    const { number } = await newQueue({ member_user_ids: [userId] })
    const atCaller = await caller('twice', number)
    const [atDesk, atPocket] = await Promise.all([desk.next(), pocket.next()])
    atPocket.ring()
    atDesk.ring()
    atDesk.answer()
    atDesk.say(tone(AGENT_HZ))
    const { cause, reasonHeader } = await atPocket.ended
    assert.equal([cause, reasonHeader], ['cancel', 'SIP;cause=200;text="Call completed elsewhere"'])
    await hearing({ caller: atCaller, agent: atDesk }, { caller: ['agent'], agent: ['caller'] })
    await atCaller.hangup()
    await atDesk.ended
  },
  WAITING,
)

test(
  'a queue that is shut and overflows to busy answers 486; who waits in one hears the busy tone before the call ends',
  async () => {
    const overflow = { when_no_agents: false, action: 'busy' }
    const shut = await newQueue({ enabled: false, overflow })
    const phone = await Phone.open('early')
    const refused = await phone.dial(shut.number, product.sip)
    assert.is((await refused.outcome).status, 486)
    const { id } = await callFrom(product, 'early')
    const call = await product.ok('GET', `/calls/${id}`)
    assert.equal([call.status, call.sip_code, call.answered_at], ['busy', 486, null])
    const told = ['call.created', 'queue.call.joined', 'queue.call.overflowed', 'call.ended']
    assert.equal(await typesOf(id), told)

    const late = await newQueue({ max_wait_seconds: 1, overflow, hold: { audio: 'silence' } })
    const waiting = await caller('late', late.number)
    const { id: lateId } = await callFrom(product, 'late')
    await waiting.ended
    const heard = waiting.heard.samples()
    assert.ok(loudestHalf(heard, TONE_HZ) > TONE_DBOV, 'the tone is heard')
    assert.is((await endedCall(product, lateId)).ended_reason, 'busy')
  },
  WAITING,
)

/** The level of a tone in the half second in which it is loudest [dBov]. */
function loudestHalf(samples: Int16Array, hz: number): number {
  let loudest = -120
  for (let at = 0; at + 4000 <= samples.length; at += 800) {
    loudest = Math.max(loudest, levelAt(hz, samples, at, at + 4000))
  }
  return loudest
}

test(
  'hold.audio: music, ringback, silence, and asset, which plays audio_asset_id in a loop',
  async () => {
    // Half a second of the key 5, over and over.
    const { buffer, byteLength: dataBytes } = dtmfTone('5', 500)
    const wav = Buffer.concat([wavHeader({ sampleRateHz: 8000, channels: 1, dataBytes }), Buffer.from(buffer)])
    const file = { content_base64: wav.toString('base64') }
    const { id: asset } = await product.ok('POST', '/audio_assets', { kind: 'music', file })
    const kinds = ['music', 'ringback', 'silence', 'asset'] as const
    const heard: Record<string, Int16Array> = {}
    await Promise.all(
      kinds.map(async audio => {
        const hold = { audio, ...(audio === 'asset' ? { audio_asset_id: asset } : {}) }
        const { number } = await newQueue({ hold })
        const call = await caller(`hold-${audio}`, number)
        // A ringing tone is silent for four seconds of five.
        heard[audio] = await call.heard.next(audio === 'ringback' ? 5500 : 2000, 1000)
        await call.hangup()
      }),
    )
    assert.is(audibleSamples(heard.silence!), 0)
    assert.ok(loudestHalf(heard.ringback!, TONE_HZ) > TONE_DBOV, 'it rings')
    assert.ok(levelAt(770, heard.asset!) > -25 && levelAt(1336, heard.asset!) > -25, 'the asset is heard')
    assert.ok(loudness(heard.music!) > -45 && levelAt(770, heard.music!) < -30, 'music is heard')
  },
  WAITING,
)

test(
  'wait_keys, pressed as telephone events (RFC 4733): a callback is booked, a message is taken',
  async () => {
    const wait_keys = { callback: '1', voicemail: '2' }
    const { id: queueId, number } = await newQueue({ wait_keys, voicemail: { message: '', max_seconds: 10 } })
    const back = await caller('+14155550142', number)
    await back.press('31')
    const booked = await product.until('it is booked', async () => {
      const { data } = await product.ok('GET', '/callbacks?status=pending')
      return data.find((one: { queue_id: string }) => one.queue_id === queueId)
    })
    assert.equal([booked.phone, booked.source], ['+14155550142', 'queue'])
    await back.ended
    const message = await caller('talker', number)
    const { id } = await callFrom(product, 'talker')
    await message.press('2')
    await product.until('it left the queue', async () =>
      (await typesOf(id)).includes('queue.call.left') ? true : null,
    )
    // After the beep.
    let isBeeped = false
    for (let tries = 0; tries < 150 && !isBeeped; tries++) {
      isBeeped = levelAt(1000, await message.heard.next(100)) > HEARD_DBOV
    }
    assert.ok(isBeeped, 'the beep is heard')
    await message.heard.next(1500)
    await message.hangup()
    await product.until('the message is there', async () => {
      const { data } = await product.ok('GET', '/voicemails')
      return data.find((one: { call_id: string }) => one.call_id === id)
    })
  },
  WAITING,
)

test.run()
