import type { Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { loudness } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { endedCall, keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { UdpRelay } from '../udp-relay.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { hearsSpeech, newMember, pageTests, SPOKEN_DBOV } from './pages.ts'

const test = sharedSuite('e2e/browsers/browser-ways')

let chromium: Chromium | undefined
test.before(async () => {
  if (missingBrowser() === null) chromium = keep(await Chromium.launch())
})

const pageTest = pageTests(test)
const WEBRTC = 'Audio over WebRTC'
const WEBSOCKET = 'Audio over the WebSocket'

/** A script that keeps the page's connections in `made`. */
const KEEPS = `globalThis.made = []
  globalThis.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...options) { super(...options); made.push(this) }
  }`

interface Call {
  page: Page
  call: PhoneCall
  callId: string
  phone: Phone
}

/** A member whose page begins with `script`, in a call with a phone. */
async function inCall(script: string, more: (page: Page) => Promise<unknown> = async () => {}): Promise<Call> {
  const { userId, token } = await newMember(product)
  const { page } = await chromium!.open(`${product.baseUrl}/softphone#client_token=${token}`, async page => {
    await more(page)
    await page.addInitScript(script)
  })
  await page.click('#start')
  await page.waitForSelector('#idle:not([hidden])')
  const phone = await Phone.open('caller')
  const { id: callId } = await product.ok('POST', '/calls', { to: phone.uri, user_id: userId })
  const call = await phone.next()
  call.answer()
  call.say(tone(700))
  await page.waitForSelector('#ringing:not([hidden])')
  await page.click('#accept')
  await page.waitForSelector('#call:not([hidden])')
  return { page, call, callId, phone }
}

const untilWay = (page: Page, way: string): Promise<unknown> =>
  product.until(way, async () => ((await page.textContent('#way')) === way ? true : null))

const untilHeard = (page: Page): Promise<unknown> =>
  product.until('the page hears the caller', async () =>
    Number(await page.evaluate('document.getElementById("heard").value')) > 0.3 ? true : null,
  )

async function hangUp({ page, phone, callId }: Call): Promise<void> {
  await page.click('#leave')
  await page.waitForSelector('#idle:not([hidden])')
  await endedCall(product, callId)
  await phone.close()
  await page.close()
}

pageTest('a page talks over WebRTC where the network allows it, and its microphone is muted there too', async () => {
  const talk = await inCall(KEEPS)
  const { page, call } = talk
  await untilWay(page, WEBRTC)
  await untilHeard(page)
  assert.ok(await hearsSpeech(call))
  await page.click('#mute')
  await product.until('the caller hears nothing', async () =>
    loudness(await call.heard.next(1000)) < SPOKEN_DBOV ? true : null,
  )
  await page.click('#mute')
  assert.ok(await hearsSpeech(call))
  await hangUp(talk)
})

pageTest(
  'a page whose browser has no WebRTC, or whose network lets it not through, talks over the WebSocket',
  async () => {
    // As behind a firewall: nothing that is sent there arrives.
    const walled = `${KEEPS}
    const take = RTCPeerConnection.prototype.setRemoteDescription
    RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
      return take.call(this, { type, sdp: sdp.replace(/(a=candidate:1 1 udp \\d+ \\S+) \\d+/, '$1 9') })
    }`
    const calls = await Promise.all([inCall('delete globalThis.RTCPeerConnection'), inCall(walled)])
    await product.until('the page has given up', async () =>
      (await calls[1].page.evaluate('made.map(({ connectionState }) => connectionState).join()')) === 'closed'
        ? true
        : null,
    )
    for (const talk of calls) {
      await untilHeard(talk.page)
      assert.ok(await hearsSpeech(talk.call))
      assert.is(await talk.page.textContent('#way'), WEBSOCKET)
      await hangUp(talk)
    }
  },
)

pageTest(
  'a network that lets packets through no more in mid-call: the call goes on over the WebSocket, and comes back',
  async () => {
    const relay = new UdpRelay()
    const relayed = `const take = RTCPeerConnection.prototype.setRemoteDescription
    RTCPeerConnection.prototype.setRemoteDescription = async function ({ type, sdp }) {
      const [line, before, port] = /(a=candidate:1 1 udp \\d+ \\S+) (\\d+)/.exec(sdp)
      return take.call(this, { type, sdp: sdp.replace(line, before + ' ' + (await relayBefore(Number(port)))) })
    }`
    const talk = await inCall(relayed, page => page.exposeFunction('relayBefore', (port: number) => relay.before(port)))
    const { page, call } = talk
    await untilWay(page, WEBRTC)
    assert.ok(await hearsSpeech(call))
    relay.isCut = true
    await untilWay(page, WEBSOCKET)
    assert.ok(await hearsSpeech(call), 'the caller hears the page again')
    await untilHeard(page)
    relay.isCut = false
    await untilWay(page, WEBRTC)
    assert.ok(await hearsSpeech(call))
    await hangUp(talk)
    relay.close()
  },
)

test.run()
