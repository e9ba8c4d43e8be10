import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import type { Product } from '../../bench/product.ts'
import { curtain, endedCall } from '../e2e/scene.ts'
import { sharedProduct } from '../e2e/shared-product.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Sipp } from './peers/sipp.ts'

const test = suite('interop/session')
const missing = missingPrograms('sipp')
const LIMIT = { timeoutMs: 60_000 }

let product: Product
test.before(async () => {
  if (missing === null) product = await sharedProduct()
})
test.after(() => curtain(product))

const sippTest = (sentence: string, run: () => unknown): void => {
  if (missing === null) test(sentence, run, LIMIT)
  else test.skip(sentence, missing)
}

let members = 0
interface Member {
  userId: string
  extension: string
  account: { username: string; password: string }
}

async function newMember(): Promise<Member> {
  const extension = String(300 + ++members)
  const email = `session${members}@example.com`
  const { user_id: userId } = await product.ok('POST', '/invitations', { email, extension })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
  const { username, password } = await product.ok('POST', `/users/${userId}/sip_credential`)
  return { userId, extension, account: { username, password } }
}

/** SIPp as this member's phone. */
const phone = (scenario: string, { account }: Member, keys: Record<string, string>): Promise<Sipp> =>
  Sipp.caller(scenario, product.sip, { to: account.username, account, keys })

/** Registers this port as the member's phone, and listens there with a scenario. */
async function registered(member: Member, scenario: string, keys: Record<string, string> = {}): Promise<Sipp> {
  const registering = await Sipp.caller('registers', product.sip, {
    to: member.account.username,
    account: member.account,
  })
  await registering.passed()
  return Sipp.callee(scenario, { port: registering.port, keys })
}

sippTest(
  'we ask for a session timer, raise it to what a 422 names, and hold by UPDATE after the Retry-After of a 500 (RFC 4028, RFC 3311)',
  async () => {
    const sipp = await Sipp.callee('longer-session')
    const { id } = await product.ok('POST', '/calls', { to: sipp.uri })
    await product.until('it is answered', async () =>
      (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
    )
    await product.ok('POST', `/calls/${id}/hold`)
    await product.until('the second UPDATE is answered', async () =>
      sipp.messages.some(({ sent, text }) => sent && /^SIP\/2\.0 200[\s\S]*a=recvonly/.test(text)) ? true : null,
    )
    await product.ok('POST', `/calls/${id}/hangup`)
    await sipp.passed()
    assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
  },
)

/** Between the 491 to our re-INVITE and the next one [ms]. */
function waitedAfterGlare(sipp: Sipp): number {
  const refused = sipp.messages.find(({ sent, startLine }) => sent && startLine.startsWith('SIP/2.0 491'))
  const again = sipp.received('INVITE').at(-1)
  return again!.at - refused!.at
}

/** Holds a call that a far end wants to hold at the same moment, and hangs it up once it is held. */
async function holdBoth(sipp: Sipp, id: string): Promise<void> {
  await product.until('it is answered', async () =>
    (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
  )
  await product.ok('POST', `/calls/${id}/hold`)
  await product.until('our second offer is answered', async () =>
    sipp.messages.some(({ sent, text }) => sent && /^SIP\/2\.0 200[\s\S]*a=recvonly/.test(text)) ? true : null,
  )
  assert.is((await product.ok('GET', `/calls/${id}`)).status, 'held')
  await product.ok('POST', `/calls/${id}/hangup`)
  await sipp.passed()
  assert.is((await endedCall(product, id)).ended_reason, 'api_hangup')
}

sippTest('glare: both are told 491; who has made the call asks again after 2.1 to 4 s (RFC 3261 §14.1)', async () => {
  const sipp = await Sipp.callee('glare-callee')
  const { id } = await product.ok('POST', '/calls', { to: sipp.uri })
  await holdBoth(sipp, id)
  const waited = waitedAfterGlare(sipp)
  assert.ok(waited >= 2090, `${waited} ms`)
})

sippTest('glare: who is called asks again within 2 s (RFC 3261 §14.1)', async () => {
  const sipp = await Sipp.caller('glare-caller', product.sip)
  const { id } = await product.until(
    'it has called',
    async () => (await product.all('/calls?direction=inbound')).find(({ ended_at }) => ended_at === null) ?? null,
  )
  await holdBoth(sipp, id)
})

sippTest(
  "a phone's lamp shows that a colleague is rung; it subscribes and unsubscribes by digest (RFC 6665, RFC 4235)",
  async () => {
    const [ann, bob] = [await newMember(), await newMember()]
    const busy = await registered(bob, 'no-answer')
    const lamp = await phone('subscribes', ann, {
      ...{ who: bob.extension, package: 'dialog' },
      ...{ first: 'state="full"', later: '<state>early</state>' },
    })
    await product.until('it is told what is so', async () => (lamp.received('NOTIFY').length > 0 ? true : null))
    const caller = await Phone.open('caller')
    const { id } = await product.ok('POST', '/calls', { to: caller.uri, user_id: bob.userId })
    const call = await caller.next()
    call.answer()
    await lamp.passed()
    await product.ok('POST', `/calls/${id}/hangup`)
    await busy.passed()
    await caller.close()
  },
)

sippTest('an event package that nobody has is answered 489 with Allow-Events (RFC 6665 §8.3.2)', async () => {
  const ann = await newMember()
  await (await phone('bad-event', ann, { who: ann.account.username })).passed()
})

sippTest("a phone's text reaches a colleague's phone, and the API's does too (RFC 3428)", async () => {
  const [ann, bob] = [await newMember(), await newMember()]
  const first = await registered(bob, 'gets-text', { text: 'lunch at one' })
  await (await phone('texts', ann, { who: bob.extension })).passed()
  await first.passed()
  const toBob = ({ to_user_id }: { to_user_id: string | null }): boolean => to_user_id === bob.userId
  const statusOf = async (): Promise<string> => (await product.all('/messages')).find(toBob)!.status
  await product.until('it is delivered', async () => ((await statusOf()) === 'delivered' ? true : null))
  const second = await Sipp.callee('gets-text', { port: first.port, keys: { text: 'your shift' } })
  const { id } = await product.ok('POST', '/messages', { to_user_id: bob.userId, text: 'your shift begins' })
  await second.passed()
  await product.until('it is delivered', async () =>
    (await product.ok('GET', `/messages/${id}`)).status === 'delivered' ? true : null,
  )
})

test.run()
