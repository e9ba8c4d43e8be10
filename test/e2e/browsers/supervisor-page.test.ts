import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { loudness } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { callFrom, endedCall, keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { openAs, pageTests, SPOKEN_DBOV } from './pages.ts'

const test = sharedSuite('e2e/browsers/supervisor-page')
const missing = missingBrowser()

let chromium: Chromium | undefined
test.before(async () => {
  if (missing === null) chromium = keep(await Chromium.launch())
})

const pageTest = pageTests(test)
const at = (role: string, name: string, path: string) => openAs(chromium!, product, { role, name, path })

pageTest(
  'a supervisor sees agents, queues and calls, listens in with one click, whispers, and is gone with another',
  async () => {
    const { page: desk, userId } = await at('agent', 'Ann', '/softphone')
    await desk.selectOption('#status', 'available')
    const queue = { name: 'Support', member_user_ids: [userId] }
    const { id: queueId } = await product.ok('POST', '/queues', queue)
    await product.ok('POST', '/inbound_routes', { match: { to: '4700' }, target: { type: 'queue', id: queueId } })
    const phone = await Phone.open('caller')
    const call = await phone.call('4700', product.sip)
    const { id: callId } = await callFrom(product, 'caller')
    await desk.waitForSelector('#ringing:not([hidden])')
    const { page } = await at('supervisor', 'Sue', '/supervisor')
    await page.waitForSelector('#floor-agents td:text-is("Ringing")')
    await page.waitForSelector('#floor-queues td:text-is("Support")')
    // The clock of this machine is an hour ahead.
    await page.evaluate('{ const now = Date.now; Date.now = () => now() + 3_600_000 }')
    const shown = () => page.textContent('#floor-agents')
    const before = await shown()
    await product.until('it is drawn anew', async () => ((await shown()) === before ? null : true))
    assert.match(String(await shown()), /Ringing0:\d\d/)
    await desk.click('#accept')
    await desk.waitForSelector('#call:not([hidden])')
    await page.waitForSelector(`#floor-calls button[data-call-id="${callId}"][data-mode="monitor"]`)
    assert.match(String(await page.textContent('#floor-calls')), 'Ann')
    await page.click('#floor-calls button[data-mode="monitor"]')
    await page.waitForSelector('#call:not([hidden])')
    call.say(tone(700))
    await product.until('the supervisor hears the call', async () =>
      Number(await page.evaluate('document.getElementById("heard").value')) > 0.3 ? true : null,
    )
    await page.waitForSelector('#floor-calls button[data-mode="monitor"][aria-pressed="true"]')
    await page.click('#floor-calls button[data-mode="barge"]')
    await page.waitForSelector('#floor-calls button[data-mode="barge"][aria-pressed="true"]')
    // The agent says nothing from now on: what the caller hears is the supervisor.
    await desk.click('#mute')
    await product.until('the caller hears the supervisor', async () =>
      loudness(await call.heard.next(500)) > SPOKEN_DBOV ? true : null,
    )
    await product.until('it has a token for the next time', async () =>
      (await page.evaluate('sessionStorage.getItem("tandem-softphone-tokens")')) === null ? null : true,
    )
    await page.reload()
    await page.waitForSelector('#floor-calls button[data-mode="barge"][aria-pressed="true"]')
    await page.click('#floor-calls button[data-mode="stop"]')
    await page.waitForSelector('#idle:not([hidden])')
    assert.is(await page.textContent('#notice'), 'You have left the call.')
    assert.is((await product.ok('GET', `/calls/${callId}`)).status, 'in_progress')
    await desk.click('#leave')
    await endedCall(product, callId)
    await phone.close()
  },
)

pageTest('an agent has no floor: the page says so, and shows nothing of others', async () => {
  const { page } = await at('agent', 'Bob', '/supervisor')
  await page.waitForSelector('#notice.bad')
  assert.match(String(await page.textContent('#notice')), 'supervisors')
  assert.ok(await page.isHidden('#floor'))
})

test.run()
