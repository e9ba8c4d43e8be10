// Judges timing: what is heard counts, by what is understood of it.
import type { Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { samplesOf, type Voice } from '../../../bench/voices.ts'
import { Flite } from '../../../media/speech/flite.ts'
import { callFrom, keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { killAndWait } from '../witness.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { has, openAs, pageTests } from './pages.ts'

const test = sharedSuite('e2e/browsers/copilot-desktop')
const missing = missingBrowser()
/** Time limit that allows the offline recogniser to load on a busy machine. */
const LOADING_MS = 150_000
const HEARD_MS = 60_000

let chromium: Chromium | undefined
let flite: Flite
test.before(async () => {
  flite = keep(new Flite(1))
  if (missing === null) chromium = keep(await Chromium.launch('silence'))
})

const PROFILE = {
  name: 'מכירות',
  stages: [
    {
      key: 'open',
      label: 'Opening',
      goal: 'Know who calls',
      checklist: [{ key: 'account', label: 'מספר חשבון', phrases: ['account number'], required: true }],
    },
  ],
  fields: [{ key: 'name', label: 'Name', type: 'name' }],
  alerts: [{ key: 'cancel', kind: 'phrase', label: 'Cancels', phrases: ['cancel my contract'], severity: 'critical' }],
}

async function spoken(text: string): Promise<Voice> {
  const made = await flite.speak(text, null, null)
  if ('error' in made) throw new Error(made.error)
  return samplesOf(made.samples)
}

const pageTest = pageTests(test, LOADING_MS)

async function at(role: string, name: string, path: string): Promise<{ page: Page; userId: string }> {
  const opened = await openAs(chromium!, product, { role, name, path })
  await opened.page.setViewportSize({ width: 1280, height: 860 })
  return opened
}

pageTest(
  'what the customer says stands on the desktop, and what the agent decides there wins; a reload and a kill of control lose nothing',
  async () => {
    const { page, userId } = await at('agent', 'ann', '/softphone')
    await page.selectOption('#status', 'available')
    const { id: profileId } = await product.ok('POST', '/copilot_profiles', PROFILE)
    const queue = { name: 'Sales', member_user_ids: [userId], copilot_profile_id: profileId }
    const { id: queueId } = await product.ok('POST', '/queues', queue)
    await product.ok('POST', '/inbound_routes', { match: { to: '4810' }, target: { type: 'queue', id: queueId } })
    const phone = await Phone.open('caller')
    const call = await phone.call('4810', product.sip)
    const { id: callId } = await callFrom(product, 'caller')
    await page.waitForSelector('#ringing:not([hidden])')
    await page.click('#accept')
    await page.waitForSelector('#copilot:not([hidden])')
    assert.is(await page.textContent('#stage-name'), 'Opening')
    const [{ id }] = (await product.ok('GET', `/copilot_sessions?call_id=${callId}`)).data
    const session = () => product.ok('GET', `/copilot_sessions/${id}`)

    call.say(await spoken('My name is John Smith.'))
    await page.waitForSelector('#said li:not(.interim) >> text=/Customer: .*John/i', { timeout: HEARD_MS })
    await has(page, '#field-name', 'John Smith')
    await page.fill('#field-name', 'Jon Smyth')
    await page.press('#field-name', 'Tab')
    await product.until('what was typed is known', async () => {
      const [field] = (await session()).fields
      return field.value === 'Jon Smyth' && field.by === 'person' ? true : null
    })
    await page.check('#item-open-account')
    await product.until('the item is done', async () => {
      const [item] = (await session()).stages[0].checklist
      return item.done && item.by === 'person' ? true : null
    })

    const { page: floor } = await at('supervisor', 'sue', '/supervisor')
    call.say(await spoken('I want to cancel my contract today.'))
    await page.waitForSelector('#alerts .hint.critical', { timeout: HEARD_MS })
    await floor.waitForSelector('#floor-calls .hint.critical')

    await page.reload()
    await page.waitForSelector('#copilot:not([hidden])')
    await page.waitForSelector('#alerts .hint.critical')
    assert.is(await page.inputValue('#field-name'), 'Jon Smyth')
    assert.ok(await page.isChecked('#item-open-account'))
    await killAndWait(product, 'control')
    await product.ready()
    await page.click('#alerts .hint.critical button')
    await page.waitForSelector('#alerts .hint', { state: 'detached' })
    assert.is(await page.locator('#said li').count(), 2)
    await page.click('#leave')
    await page.waitForSelector('#hints .summary')
    await phone.close()
  },
)

test.run()
