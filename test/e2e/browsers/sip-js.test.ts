import type { Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { tone } from '../../../bench/voices.ts'
import { suite } from '../../harness.ts'
import { curtain, endedCall, newRoom, seat, seatOf } from '../scene.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { hearsSpeech, newMember, pageTests } from './pages.ts'
import { SipPage } from './sip-page.ts'

const test = suite('e2e/browsers/sip-js')

let site: SipPage
let product: Product
let chromium: Chromium | undefined
test.before(async () => {
  site = await SipPage.serve()
  product = await Product.start({ env: { TANDEM_SIP_WS_ORIGINS: site.url } })
  if (missingBrowser() === null) chromium = await Chromium.launch()
})
test.after(async () => {
  await chromium?.close()
  await curtain(product)
  site.close()
})

const pageTest = pageTests(test)

type Account = Record<'username' | 'password' | 'wsUrl', string>

async function register(page: Page, account: Account): Promise<void> {
  await page.evaluate(`phone.register(${JSON.stringify(account)})`)
  await page.waitForFunction('phone.registerer.state === "Registered"')
}

/** A member's account, and a page that begins with `script`, on which sip.js has registered it. */
async function registered(script = ''): Promise<{ page: Page; userId: string; account: Account }> {
  const { userId } = await newMember(product)
  const { username, password, ws_url: wsUrl } = await product.ok('POST', `/users/${userId}/sip_credential`)
  const { page } = await chromium!.open(site.url, async page => {
    await page.addInitScript(script)
  })
  const account = { username, password, wsUrl }
  await register(page, account)
  return { page, userId, account }
}

const phonesOf = async (userId: string) =>
  (await product.ok('GET', `/users/${userId}/sip_credential`)).registrations as { transport: string; contact: string }[]

pageTest('sip.js in Chromium registers over WebSocket; when its page is closed, it is registered no more', async () => {
  const { page, userId } = await registered()
  const [phone, ...others] = await phonesOf(userId)
  assert.equal([phone?.transport, others.length], ['ws', 0])
  assert.match(String(phone?.contact), /\.invalid;transport=ws/)
  await page.close()
  await product.until('the registration is gone', async () => ((await phonesOf(userId)).length === 0 ? true : null))
})

/** Whether the page hears this tone within some seconds. */
const untilHeard = (page: Page, hz: number): Promise<unknown> =>
  product.until(`the page hears ${hz} Hz`, async () => {
    const heard = (await page.evaluate('phone.hears()')) as { hz: number; db: number }
    return heard.db > -50 && Math.abs(heard.hz - hz) < 30 ? true : null
  })

/** Presses keys in a card-payment pause: they arrive as telephone events over WebRTC, and are reported only masked. */
async function keysOfPause(page: Page, callId: string): Promise<void> {
  const keys = '49865'
  await product.ok('PATCH', '/organisation', { pci: { enabled: true, mask_dtmf: true } })
  await product.ok('POST', `/calls/${callId}/pci`, { action: 'pause' })
  assert.ok(await page.evaluate(`phone.key("${keys}")`))
  await product.until('the keys of the pause are told', async () => {
    const told = await product.all('/events?type=call.dtmf')
    const ofPause = told.filter(({ data }) => data.object.call_id === callId).slice(1)
    if (ofPause.length < keys.length) return null
    assert.ok(ofPause.every(({ data }) => data.object.masked && data.object.digit === '*'))
    return true
  })
  await product.ok('POST', `/calls/${callId}/pci`, { action: 'resume' })
}

pageTest(
  'sip.js in Chromium calls a room: both hear each other, its keys arrive, those of a pause masked, and it hangs up',
  async () => {
    const { page, userId } = await registered()
    const room = await newRoom(product)
    const other = await seat(product, room, 'other')
    other.call.say(tone(700))
    await page.evaluate(`phone.call(${JSON.stringify(room.number)})`)
    await page.waitForFunction('phone.state === "Established"')
    await untilHeard(page, 700)
    assert.ok(await hearsSpeech(other.call), 'the room hears the page')
    assert.is(await page.evaluate('phone.codec()'), 'audio/opus')
    assert.ok(await page.evaluate('phone.key("5")'))
    const { callId } = await seatOf(product, room, userId)
    await product.until('the key is told of', async () => {
      const told = await product.all(`/events?type=call.dtmf`)
      return told.find(({ data }) => data.object.digit === '5' && data.object.call_id === callId) ?? null
    })
    await keysOfPause(page, callId)
    assert.is(other.call.keysHeard, '')
    await page.evaluate('phone.bye()')
    const call = await endedCall(product, callId)
    assert.equal([call.status, call.quality[0].codec], ['completed', 'opus'])
    await page.close()
    await other.phone.close()
  },
)

/** A script that leaves out the events of Opus' clock, which Firefox does not know. */
const AS_FIREFOX = `const make = RTCPeerConnection.prototype.createOffer
  RTCPeerConnection.prototype.createOffer = async function (...options) {
    const { type, sdp } = await make.apply(this, options)
    const [line, payloadType] = /a=rtpmap:(\\d+) telephone-event\\/48000\\r\\n/.exec(sdp)
    return { type, sdp: sdp.replace(line, '').replace(new RegExp('(m=audio.*) ' + payloadType + '\\\\b'), '$1') }
  }`

pageTest(
  'keys of a browser that names telephone-event/8000 alone beside Opus arrive, those of a pause masked',
  async () => {
    const { page, userId } = await registered(AS_FIREFOX)
    const room = await newRoom(product)
    await page.evaluate(`phone.call(${JSON.stringify(room.number)})`)
    await page.waitForFunction('phone.state === "Established"')
    const described = String(await page.evaluate('phone.connection.remoteDescription.sdp'))
    assert.match(described, /opus\/48000/)
    assert.match(described, /telephone-event\/8000/)
    const { callId } = await seatOf(product, room, userId)
    // The browser takes no keys before the handshake of DTLS.
    await page.waitForFunction('phone.connection.connectionState === "connected"')
    assert.ok(await page.evaluate('phone.key("7")'))
    await product.until('the key is told of', async () => {
      const told = await product.all('/events?type=call.dtmf')
      return told.find(({ data }) => data.object.digit === '7' && data.object.call_id === callId) ?? null
    })
    await keysOfPause(page, callId)
    await page.evaluate('phone.bye()')
    await endedCall(product, callId)
    await page.close()
  },
)

pageTest('sip.js in Chromium is called: it rings, is answered, and both hear each other', async () => {
  const { page, userId } = await registered()
  const caller = await Phone.open('caller')
  const { id: callId } = await product.ok('POST', '/calls', { to: caller.uri, user_id: userId })
  const call = await caller.next()
  call.answer()
  call.say(tone(900))
  await page.waitForFunction('phone.state === "ringing"')
  await page.evaluate('phone.answer()')
  await page.waitForFunction('phone.state === "Established"')
  await untilHeard(page, 900)
  assert.ok(await hearsSpeech(call), 'the caller hears the page')
  void call.hangup()
  await page.waitForFunction('phone.state === "Terminated"')
  await endedCall(product, callId)
  await page.close()
  await caller.close()
})

pageTest(
  'a page that is loaded again in a call of a queue leaves the caller in the queue where it had been, and rings again once it has registered',
  async () => {
    const { page, userId, account } = await registered()
    await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
    const queue = { name: 'Reloads', member_user_ids: [userId], wrap_up_seconds: 0 }
    const { id } = await product.ok('POST', '/queues', queue)
    await product.ok('POST', '/inbound_routes', { match: { to: '4700' }, target: { type: 'queue', id } })
    const [caller, later] = [await Phone.open('reloaded'), await Phone.open('later')]
    const call = await caller.call('4700', product.sip)
    call.say(tone(900))
    for (const isReloaded of [false, true]) {
      await page.waitForFunction('phone.state === "ringing"')
      await page.evaluate('phone.answer()')
      await page.waitForFunction('phone.state === "Established"')
      await untilHeard(page, 900)
      assert.ok(await hearsSpeech(call), 'the caller hears the page')
      if (isReloaded) break
      await later.call('4700', product.sip)
      await page.reload()
      await register(page, account)
    }
    await later.close()
    await page.evaluate('phone.bye()')
    await call.ended
    await page.close()
    await caller.close()
  },
)

test.run()
