import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import type { Product } from '../../../bench/product.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { Chromium, missingBrowser } from '../../e2e/browsers/chromium.ts'
import { hearsSpeech } from '../../e2e/browsers/pages.ts'
import { SipPage } from '../../e2e/browsers/sip-page.ts'
import { curtain, HEARD_DBOV } from '../../e2e/scene.ts'
import { suite } from '../../harness.ts'
import { missingServer, startTwoNodes } from './two-nodes.ts'

/** Two nodes that share a PostgreSQL database, with nothing before them: each takes calls for what the other one has. */
const test = suite('interop/between-nodes')
const LIMIT = { timeoutMs: 60_000 }

let nodes: [Product, Product]
let site: SipPage

test.before(async () => {
  site = await SipPage.serve()
  if (missingServer() === null)
    nodes = (await startTwoNodes({ TANDEM_SIP_WS_ORIGINS: site.url, TANDEM_DRAIN_SECONDS: '30' })).nodes
})
test.after(async () => {
  for (const node of nodes ?? []) await curtain(node)
  site.close()
})

const sharedTest = (sentence: string, run: () => Promise<void>, needed: string | null = null): void => {
  const missing = missingServer() ?? needed
  if (missing === null) test(sentence, run, LIMIT)
  else test.skip(sentence, missing)
}

/** A member who is called by `97xx`, at whichever node. */
async function memberAt(extension: string): Promise<{ account: Record<string, string>; number: string }> {
  const [node] = nodes
  const { user_id: id } = await node.ok('POST', '/invitations', { email: `m${extension}@example.com`, extension })
  await node.ok('PATCH', `/users/${id}`, { status: 'active' })
  const account = await node.ok('POST', `/users/${id}/sip_credential`)
  const number = extension.replace('77', '97')
  await node.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'user', id } })
  return { account, number }
}

const hears = (node: Product, call: PhoneCall, hz: number): Promise<true> =>
  node.until(`${hz} Hz is heard`, async () => (levelAt(hz, await call.heard.next(200)) > HEARD_DBOV ? true : null))

for (const transport of ['udp', 'tcp'] as const) {
  sharedTest(
    `a phone that has registered with one node over ${transport} is rung by callers of the other`,
    async () => {
      const { account, number } = await memberAt(transport === 'udp' ? '7701' : '7702')
      const [near, far] = nodes
      const [phone, caller] = [await Phone.open(`phone-${transport}`), await Phone.open('caller')]
      await phone.register(account as never, { ...far.sip, transport } as never)
      for (const whoHangsUp of ['caller', 'phone']) {
        const calling = caller.dial(number, near.sip)
        const ringing = await phone.next()
        ringing.answer()
        const call = await calling
        assert.is((await call.outcome).status, 200)
        call.say(tone(440))
        ringing.say(tone(1000))
        await Promise.all([hears(near, call, 1000), hears(near, ringing, 440)])
        await (whoHangsUp === 'caller' ? call : ringing).hangup()
        await Promise.all([call.ended, ringing.ended])
      }
      await Promise.all([phone.close(), caller.close()])
    },
  )
}

sharedTest(
  'sip.js in Chromium that has registered with one node is rung by callers of the other, until they give up or it hangs up',
  async () => {
    const { account, number } = await memberAt('7703')
    const [near] = nodes
    const chromium = await Chromium.launch()
    const { page } = await chromium.open(site.url)
    const { username, password } = account
    const wsUrl = `ws://127.0.0.1:${nodes[1].wsPort}/v1/sip`
    await page.evaluate(`phone.register(${JSON.stringify({ username, password, wsUrl })})`)
    await page.waitForFunction('phone.registerer.state === "Registered"')
    const caller = await Phone.open('caller')
    const givenUp = await caller.dial(number, near.sip)
    await page.waitForFunction('phone.state === "ringing"')
    await givenUp.hangup()
    await page.waitForFunction('phone.state === "Terminated"')
    const calling = caller.dial(number, near.sip)
    await page.waitForFunction('phone.state === "ringing"')
    await page.evaluate('phone.answer()')
    await page.waitForFunction('phone.state === "Established"')
    const call = await calling
    assert.is((await call.outcome).status, 200)
    assert.ok(await hearsSpeech(call), 'the caller hears the page')
    await page.evaluate('phone.bye()')
    await call.ended
    await chromium.close()
    await caller.close()
  },
  missingBrowser(),
)

/** A conference room with this number at every node, in which a caller of the far node waits and is known to the near one. */
async function metAt(number: string) {
  const [near, far] = nodes
  const { id } = await near.ok('POST', '/conference_rooms', { name: number })
  await near.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'room', id } })
  const [one, other] = [await Phone.open('one'), await Phone.open('other')]
  const first = await one.call(number, far.sip)
  first.say(tone(440))
  await near.until('the room is open', async () =>
    (await near.ok('GET', `/conference_rooms/${id}`)).live === null ? null : true,
  )
  return { one, other, first }
}

sharedTest('callers of a conference room meet in it, whichever node they call, over UDP and TCP', async () => {
  const [near] = nodes
  const { one, other, first } = await metAt('9801')
  for (const transport of ['udp', 'tcp'] as const) {
    const second = await other.call('9801', { ...near.sip, transport } as never)
    second.say(tone(1000))
    await Promise.all([hears(near, first, 1000), hears(near, second, 440)])
    await second.hangup()
  }
  await first.hangup()
  await Promise.all([one.close(), other.close()])
})

sharedTest('a caller joins a conference on a node that drains', async () => {
  const [near, far] = nodes
  const { one, other, first } = await metAt('9802')
  const stopped = far.stop()
  await near.until('it drains', async () => {
    const refused = await other.dial('9802', far.sip)
    return (await refused.outcome).status === 503 ? true : null
  })
  const second = await other.call('9802', near.sip)
  second.say(tone(1000))
  await Promise.all([hears(near, first, 1000), hears(near, second, 440)])
  await first.hangup()
  await second.hangup()
  await stopped
  await Promise.all([one.close(), other.close()])
})

sharedTest('a conference room whose node has died is open at the other one at once', async () => {
  const { nodes: pair } = await startTwoNodes({ TANDEM_SIP_PROXIES: '127.0.0.0/8' }, '_died')
  const [near, far] = pair
  const { id } = await near.ok('POST', '/conference_rooms', { name: 'Dies' })
  await near.ok('POST', '/inbound_routes', { match: { to: '9803' }, target: { type: 'room', id } })
  const [one, other] = [await Phone.open('one'), await Phone.open('other')]
  const lost = await one.call('9803', far.sip)
  await near.until('the room is open', async () =>
    (await near.ok('GET', `/conference_rooms/${id}`)).live === null ? null : true,
  )
  far.kill()
  const call = await other.dial('9803', near.sip)
  assert.is((await call.outcome).status, 200)
  const third = await one.call('9803', near.sip)
  third.say(tone(440))
  await hears(near, call, 440)
  await Promise.all([one.close(), other.close()])
  await curtain(near)
  void lost
})

test.run()
