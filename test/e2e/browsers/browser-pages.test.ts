import type { Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { tone } from '../../../bench/voices.ts'
import { endedCall, keep, leave, newRoom, seat } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { fallsSilent, hearsSpeech, pageTests } from './pages.ts'

const test = sharedSuite('e2e/browsers/browser-pages')
const missing = missingBrowser()

let chromium: Chromium
test.before(async () => {
  if (missing !== null) return
  chromium = keep(await Chromium.launch())
})

const pageTest = pageTests(test)

const textOf = async (url: string): Promise<string> => String(await (await chromium.open(url)).page.textContent('main'))

/** Whether one of the page's two level meters shows sound within some seconds. */
async function meterMoves(page: Page, id: 'level' | 'heard'): Promise<boolean> {
  for (let tries = 0; tries < 50; tries++) {
    if ((await page.locator(`#${id}`).evaluate(meter => (meter as unknown as { value: number }).value)) > 0.2)
      return true
    await page.waitForTimeout(100)
  }
  return false
}

const linkOf = async (roomId: string): Promise<string> =>
  (await product.ok('POST', `/conference_rooms/${roomId}/links`)).join_url

pageTest('a guest joins by the link, is heard by a phone and hears it, mutes, and leaves', async () => {
  const room = await newRoom(product, { name: 'Team meeting' })
  const phone = await seat(product, room, 'phone')
  const { page, faults } = await chromium.open(await linkOf(room.roomId))
  assert.is(await page.textContent('h1'), 'Team meeting')
  await page.fill('#name', 'Anna')
  await page.click('text=Join')
  await page.waitForSelector('#call[data-state=seated]')
  assert.is(await page.textContent('#state'), 'With one other person.')
  assert.ok(await hearsSpeech(phone.call), 'the phone hears the guest')
  assert.ok(await meterMoves(page, 'level'), 'the guest sees that his microphone works')
  phone.call.say(tone(700))
  assert.ok(await meterMoves(page, 'heard'), 'the guest hears the phone')
  await page.click('#mute')
  assert.ok(await fallsSilent(phone.call), 'muted, the guest falls silent')
  assert.not.ok(await hearsSpeech(phone.call, 3), 'muted, the guest is not heard')
  const { data } = await product.ok('GET', `/conference_rooms/${room.roomId}/participants`)
  const guest = data.find((one: { address: string }) => one.address === 'Anna')
  await page.click('#leave')
  await page.waitForSelector('#join:not([hidden])')
  assert.is((await endedCall(product, guest.call_id)).ended_reason, 'caller_hangup')
  assert.equal(faults, [])
  await leave(phone)
})

pageTest("a room's name keeps its own direction: what ends a sentence from the right stands left of it", async () => {
  const room = await newRoom(product, { name: 'ישראל!' })
  const { page } = await chromium.open(await linkOf(room.roomId))
  const leftOf = async (from: number, to: number): Promise<number> =>
    Number(
      await page.evaluate(`(() => {
        const range = document.createRange()
        const text = document.createTreeWalker(document.querySelector('h1'), NodeFilter.SHOW_TEXT).nextNode()
        range.setStart(text, ${from})
        range.setEnd(text, ${to})
        return range.getBoundingClientRect().left
      })()`),
    )
  assert.ok((await leftOf(5, 6)) < (await leftOf(0, 5)))
  await page.close()
})

pageTest('a room with a PIN asks for it; a wrong one is told, with the tries that are left', async () => {
  const room = await newRoom(product, { pin: '4711', settings: { announce: false, wait_for_moderator: true } })
  const { page, faults } = await chromium.open(await linkOf(room.roomId))
  await page.fill('#name', 'Ben')
  await page.fill('#pin', '1234')
  await page.click('text=Join')
  await page.waitForSelector('#notice:has-text("2 tries")')
  assert.is(await page.getAttribute('#pin', 'aria-invalid'), 'true')
  await page.fill('#pin', '4711')
  await page.click('text=Join')
  await page.waitForSelector('#call[data-state=waiting]')
  assert.match(String(await page.textContent('#state')), /Waiting for the moderator/)
  await page.click('#leave')
  // The browser itself logs every answer with 400 as an error.
  assert.equal(
    faults.filter(fault => !/status of 400/.test(fault)),
    [],
  )
})

pageTest('a room that is closed, and a link that was replaced, say so', async () => {
  const room = await newRoom(product)
  const link = await linkOf(room.roomId)
  await product.ok('PATCH', `/conference_rooms/${room.roomId}`, { active: false })
  assert.match(await textOf(link), 'The room is closed.')
  await linkOf(room.roomId)
  assert.match(await textOf(link), 'This link does not work')
})

pageTest('a guest whose call cannot be opened is told so, and the page lets go of the microphone', async () => {
  const room = await newRoom(product, { name: 'Out of reach' })
  const { page } = await chromium.open(await linkOf(room.roomId), async page => {
    await page.addInitScript(`{
      const asked = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
      navigator.mediaDevices.getUserMedia = async wish => (window.opened = await asked(wish))
      window.WebSocket = function () { setTimeout(() => this.onerror()) }
    }`)
  })
  await page.fill('#name', 'Anna')
  await page.click('text=Join')
  await page.waitForSelector('#notice.bad')
  assert.equal(await page.evaluate(`window.opened.getTracks().map(track => track.readyState)`), ['ended'])
  await page.close()
})

pageTest('a web call with a client token: connected, keys are events, hung up', async () => {
  const { token, call_id } = await product.ok('POST', '/client_tokens', { origin: product.baseUrl })
  const { page, faults } = await chromium.open(`${product.baseUrl}/web_call#client_token=${token}`)
  await page.click('#start')
  await page.waitForSelector('#state:has-text("Connected")')
  await page.click('summary')
  await page.click('#keypad button[value="5"]')
  const key = await product.until('the key', async () =>
    (await product.all('/events?type=call.dtmf')).find(({ data }) => data.object.call_id === call_id),
  )
  assert.is(key.data.object.digit, '5')
  await page.click('#leave')
  assert.is((await endedCall(product, call_id)).ended_reason, 'caller_hangup')
  assert.equal(faults, [])
})

/** What the page of a web call says once it is opened in a browser that lacks something. */
async function saidWithout(script: string, words: RegExp): Promise<void> {
  const { token } = await product.ok('POST', '/client_tokens', { origin: product.baseUrl })
  const { page } = await chromium.open(`${product.baseUrl}/web_call#client_token=${token}`, page =>
    page.addInitScript(script).then(() => {}),
  )
  await page.click('#start')
  await page.locator('#notice.bad').getByText(words).waitFor()
  await page.close()
}

pageTest('a browser without a microphone, also as WebKit tells of it, is told to connect one', async () => {
  for (const error of ['new DOMException("", "NotFoundError")', 'new OverconstrainedError("", "Invalid constraint")'])
    await saidWithout(`navigator.mediaDevices.getUserMedia = async () => { throw ${error} }`, /No microphone was found/)
})

pageTest('a browser that runs no audio, as Firefox without a loudspeaker, is told so', () =>
  saidWithout(
    `Object.defineProperty(AudioContext.prototype, 'state', { get: () => 'suspended' })`,
    /plays no sound. Connect a loudspeaker/,
  ),
)

test.run()
