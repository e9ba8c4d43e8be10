import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import { Product } from '../../bench/product.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { callFrom, curtain, endedCall, HEARD_DBOV } from '../e2e/scene.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Baresip } from './peers/baresip.ts'
import { Sipp } from './peers/sipp.ts'
import { toneDirectory } from './peers/tone-directory.ts'

const missing = missingPrograms('baresip', 'sipp')
const test = suite('interop/queue', { timeoutMs: 60_000, missing })
const CALLER_HZ = 440
const AGENT_HZ = 700

let product: Product
test.before(async () => {
  // It calls numbers, and looks for the call of SIPp: no other file is to have had such.
  if (missing === null) product = await Product.start()
})
test.after(() => curtain(product))

interface BaresipAgent {
  userId: string
  phone: Baresip
}

let agents = 0
/** A member who can be made an agent, with a SIP account. */
async function newMember(): Promise<{
  userId: string
  account: { username: string; password: string; registrar: string }
}> {
  const { user_id: userId } = await product.ok('POST', '/invitations', { email: `queue${++agents}@example.com` })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
  return { userId, account: await product.ok('POST', `/users/${userId}/sip_credential`) }
}

async function becomesAvailable(userId: string): Promise<void> {
  await product.until('the agent is registered', async () => {
    const { registrations } = await product.ok('GET', `/users/${userId}/sip_credential`)
    return registrations.length === 0 ? null : true
  })
  await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
}

/** An agent whose phone is a baresip, registered and available. */
async function newAgent(answers: boolean): Promise<BaresipAgent> {
  const { userId, account } = await newMember()
  const phone = await Baresip.start({
    toneHz: AGENT_HZ,
    answers,
    account: { ...account, transport: 'udp', everyS: 600 },
  })
  await becomesAvailable(userId)
  return { userId, phone }
}

const statusIs = (userId: string, status: string) =>
  product.until(`the agent is ${status}`, async () =>
    (await product.ok('GET', `/agents/${userId}/status`)).status === status ? true : null,
  )

async function newQueue(number: string, fields: object): Promise<string> {
  const { id } = await product.ok('POST', '/queues', { name: `Queue ${number}`, ...fields })
  await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'queue', id } })
  return id
}

/** Until the call hears the tone; windows without it are what came before. */
async function hearsTone(call: PhoneCall, toneHz: number): Promise<void> {
  let level = -100
  for (let tries = 0; tries < 30; tries++) {
    level = levelAt(toneHz, await call.heard.next(500))
    if (level > HEARD_DBOV) return
  }
  throw new Error(`${toneHz} Hz is not heard: ${level} dBov`)
}

/** Whether any half second of what baresip has heard has the tone: before it, its phone had not been answered. */
async function hasHeard(agent: Baresip, toneHz: number): Promise<boolean> {
  const heard = await agent.heard()
  const window = 4000
  for (let at = 0; at + window <= heard.length; at += window) {
    if (levelAt(toneHz, heard.subarray(at, at + window)) > HEARD_DBOV) return true
  }
  return false
}

test('a caller waits in a queue, baresip as its agent answers, both hear each other, and wrap-up follows', async () => {
  const agent = await newAgent(true)
  const caller = await Phone.open('waiting')
  try {
    await newQueue('4100', { member_user_ids: [agent.userId], wrap_up_seconds: 30 })
    const call = await caller.call('4100', product.sip)
    call.say(tone(CALLER_HZ))
    await agent.phone.until('CALL_ESTABLISHED')
    await hearsTone(call, AGENT_HZ)
    await statusIs(agent.userId, 'busy')
    const { id } = await callFrom(product, 'waiting')
    // What the caller hears is of the agent; what the agent hears takes the same way back: another second of it.
    await call.heard.next(1000)
    agent.phone.hangup()
    assert.is((await endedCall(product, id)).ended_reason, 'agent_hangup')
    await statusIs(agent.userId, 'wrap_up')
    assert.ok(await hasHeard(agent.phone, CALLER_HZ), 'baresip hears the caller')
  } finally {
    await agent.phone.stop()
    await caller.close()
  }
})

test('an agent who does not answer is missed, and the call goes to the next one', async () => {
  const deaf = await newAgent(false)
  const caller = await Phone.open('patient')
  let next: BaresipAgent | undefined
  try {
    next = await newAgent(true)
    await newQueue('4200', {
      member_user_ids: [deaf.userId, next.userId],
      ring_timeout_seconds: 5,
      away_on_missed: true,
    })
    const call = await caller.call('4200', product.sip)
    await deaf.phone.until('CALL_INCOMING')
    await next.phone.until('CALL_ESTABLISHED')
    await hearsTone(call, AGENT_HZ)
    await statusIs(deaf.userId, 'away')
    await statusIs(next.userId, 'busy')
    await call.hangup()
    await next.phone.until('CALL_CLOSED')
  } finally {
    await deaf.phone.stop()
    await next?.phone.stop()
    await caller.close()
  }
})

test('a callback is offered to the baresip of an agent, and then the person is dialled; both hear each other', async () => {
  const agent = await newAgent(true)
  const person = await Phone.open('person')
  try {
    const [host = '', port = ''] = person.uri.replace(/^sip:[^@]*@/, '').split(':')
    await product.ok('POST', '/connections', { name: 'Trunk', kind: 'trunk', host, port: Number(port) })
    const queueId = await newQueue('4300', { member_user_ids: [agent.userId] })
    const { id } = await product.ok('POST', '/callbacks', {
      phone: '+14155550142',
      route: 'agent_queue',
      queue_id: queueId,
    })
    await agent.phone.until('CALL_ESTABLISHED')
    const call = await person.next()
    call.answer()
    call.say(tone(CALLER_HZ))
    await hearsTone(call, AGENT_HZ)
    await product.until('it is connected', async () =>
      (await product.ok('GET', `/callbacks/${id}`)).status === 'connected' ? true : null,
    )
    await call.heard.next(1000)
    await call.hangup()
    await agent.phone.until('CALL_CLOSED')
    await product.until('it is completed', async () =>
      (await product.ok('GET', `/callbacks/${id}`)).status === 'completed' ? true : null,
    )
    assert.ok(await hasHeard(agent.phone, CALLER_HZ), 'baresip hears the person')
  } finally {
    await agent.phone.stop()
    await person.close()
  }
})

test('SIPp registers by digest as an agent, takes a call of the queue, and its caller is heard there', async () => {
  const { userId, account } = await newMember()
  const registering = await Sipp.caller('registers', product.sip, { to: account.username, account })
  await registering.passed()
  const agent = await Sipp.callee('answers', { echo: true, port: registering.port })
  await becomesAvailable(userId)
  await newQueue('4400', { member_user_ids: [userId], hold: { audio: 'silence' } })
  const caller = await Phone.open('echoed')
  const call = await caller.call('4400', product.sip)
  call.say(tone(CALLER_HZ))
  // The agent's side sends back what it hears.
  await hearsTone(call, CALLER_HZ)
  await statusIs(userId, 'busy')
  await call.hangup()
  await agent.passed()
  await statusIs(userId, 'available')
  await caller.close()
})

test('SIPp as a caller waits in a queue, is heard by the agent, and is hung up on', async () => {
  const { userId, account } = await newMember()
  const phone = await Phone.open('desk')
  await phone.register(account, product.sip)
  await newQueue('4500', { member_user_ids: [userId] })
  const tones = toneDirectory(CALLER_HZ)
  try {
    const caller = await Sipp.caller('rtp-tone', product.sip, { to: '4500', directory: tones.path })
    const { id } = await callFrom(product, 'sipp')
    await product.until('it waits', async () => {
      const types = (await product.all(`/calls/${id}/events`)).map(({ type }) => type)
      return types.includes('queue.call.joined') ? true : null
    })
    await becomesAvailable(userId)
    const call = await phone.next()
    call.answer()
    await hearsTone(call, CALLER_HZ)
    await call.hangup()
    await caller.passed()
    assert.is((await endedCall(product, id)).ended_reason, 'agent_hangup')
  } finally {
    tones.remove()
    await phone.close()
  }
})

test.run()
