import type { Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { hearsSpeech, openAs, pageTests } from './pages.ts'

const test = sharedSuite('e2e/browsers/preview-desktop')
const missing = missingBrowser()
const desktopTest = pageTests(test)

let chromium: Chromium | undefined
let phone: Phone
test.before(async () => {
  if (missing !== null) return
  chromium = keep(await Chromium.launch())
  phone = await Phone.open('contact')
  await product.ok('POST', '/connections', { name: 'Trunk', kind: 'trunk', host: phone.host, port: phone.port })
})

interface Desk {
  page: Page
  userId: string
  queueId: string
  campaignId: string
}

/** Opens a page for an available agent, and starts a campaign whose contacts the agent previews. */
async function open(name: string, contacts: object[], settings: object = {}): Promise<Desk> {
  const { page, userId } = await openAs(chromium!, product, { path: '/softphone', role: 'agent', name })
  const queue = { name: `Queue of ${name}`, member_user_ids: [userId], wrap_up_seconds: 0 }
  const { id: queueId } = await product.ok('POST', '/queues', queue)
  await page.selectOption('#status', 'available')
  const fields = { name: `Renewals of ${name}`, queue_id: queueId, mode: 'preview', allowed_hours: null, ...settings }
  const { id: campaignId } = await product.ok('POST', '/campaigns', fields)
  await product.ok('POST', `/campaigns/${campaignId}/contacts`, { contacts })
  await product.ok('POST', `/campaigns/${campaignId}/start`, {})
  // A page asks for campaigns only now and then; a status that it has set shows that it is connected.
  await product.until('the agent is available', async () =>
    (await product.ok('GET', `/agents/${userId}/status`)).status === 'available' ? true : null,
  )
  await page.reload()
  await page.waitForSelector('#preview-claim:visible')
  return { page, userId, queueId, campaignId }
}

const contactOf = async ({ campaignId }: Desk, phone: string) =>
  (await product.all(`/campaigns/${campaignId}/contacts`)).find(contact => contact.phone === phone)

const becomes = (desk: Desk, phone: string, status: string) =>
  product.until(`${phone} is ${status}`, async () => ((await contactOf(desk, phone))?.status === status ? true : null))

desktopTest(
  'an agent claims a contact, sees who it is, has it called and talks with it without a second click; no queue rings meanwhile',
  async () => {
    const [ann, bob] = ['+14155550191', '+14155550192']
    const desk = await open('Caller', [
      { phone: ann, name: 'Ann Smith', metadata: { contract: 'until May' } },
      { phone: bob, name: 'Bob' },
    ])
    const { page, queueId, userId } = desk
    await page.click('#preview-claim')
    await page.waitForSelector('#preview-call:visible')
    assert.equal(
      [await page.textContent('#preview-name'), await page.textContent('#preview-phone')],
      ['Ann Smith', ann],
    )
    assert.is(await page.textContent('#preview-facts'), 'contractuntil May')
    assert.match(String(await page.textContent('#preview-left')), /^Yours for [12]:\d\d$/)
    assert.is((await contactOf(desk, ann)).claimed_by, userId)
    assert.ok(await page.evaluate(`document.activeElement.id === 'preview-call'`), 'the keyboard stands at Call')
    // A caller of the queue waits for the agent, who is busy with a preview.
    await product.ok('POST', '/inbound_routes', { match: { to: '4700' }, target: { type: 'queue', id: queueId } })
    const caller = await Phone.open('waiter')
    const waiting = await caller.call('4700', product.sip)
    await product.until('the caller waits', async () =>
      (await product.ok('GET', `/queues/${queueId}/calls`)).data.length === 1 ? true : null,
    )
    const ringing = phone.next()
    await page.click('#preview-call')
    const call = await ringing
    await becomes(desk, ann, 'calling')
    await page.waitForSelector('#preview-call', { state: 'hidden' })
    assert.ok(await page.isVisible('#preview-name'), 'who is called is still seen')
    assert.is(await page.isVisible('#ringing'), false)
    call.answer()
    await page.waitForSelector('#call:not([hidden])')
    assert.is(await page.textContent('#with'), ann)
    assert.ok(await hearsSpeech(call), 'the contact hears the agent')
    await becomes(desk, ann, 'connected')
    await page.click('#leave')
    await becomes(desk, ann, 'completed')
    // Now the agent is free, and the waiting caller rings.
    await page.waitForSelector('#ringing:not([hidden])')
    assert.match(String(await page.textContent('#caller')), 'sip:waiter@')
    waiting.hangup()
    await page.waitForSelector('#idle:not([hidden])')
    await page.waitForSelector('#preview-claim:visible')
    assert.is(await page.isVisible('#preview-contact'), false)
    await caller.close()
    await page.close()
  },
)

desktopTest('an agent skips a contact with a reason, and claims the next; at the end there is none', async () => {
  const [ann, bob] = ['+14155550193', '+14155550194']
  const desk = await open('Skipper', [{ phone: ann }, { phone: bob }])
  const { page } = desk
  const [first, second] = [ann, bob]
  await page.click('#preview-claim')
  await page.waitForSelector('#preview-skip:visible')
  assert.is(await page.textContent('#preview-name'), first)
  await page.fill('#preview-reason', 'On holiday until June.')
  await page.selectOption('#preview-again', '60')
  await page.click('#preview-skip button')
  await page.waitForSelector('#preview-claim:visible')
  const { status, skip_reason, last_result, next_attempt_at } = await contactOf(desk, first)
  assert.equal([status, skip_reason, last_result], ['pending', 'On holiday until June.', 'skipped'])
  assert.ok(Date.parse(next_attempt_at) > Date.now() + 50 * 60_000)
  await page.click('#preview-claim')
  await page.waitForSelector('#preview-skip:visible')
  assert.equal([await page.textContent('#preview-name'), await page.inputValue('#preview-reason')], [second, ''])
  await page.click('#preview-skip button')
  await becomes(desk, second, 'failed')
  await page.waitForSelector('#preview-claim:visible')
  await page.click('#preview-claim')
  await page.waitForSelector('#notice.bad')
  assert.is(await page.textContent('#notice'), 'No contact may be called now.')
  await page.close()
})

desktopTest('a contact that must not be called is told of; that of a paused campaign leaves the desktop', async () => {
  const [ann, bob] = ['+14155550195', '+14155550196']
  const { page, campaignId } = await open('Late', [{ phone: ann }, { phone: bob }])
  await page.click('#preview-claim')
  await page.waitForSelector('#preview-call:visible')
  await product.ok('POST', '/do_not_call', { phone: ann })
  await page.click('#preview-call')
  await page.waitForSelector('#notice.bad')
  assert.is(await page.textContent('#notice'), 'This contact must not be called.')
  await page.waitForSelector('#preview-claim:visible')
  await page.click('#preview-claim')
  await page.waitForSelector('#preview-call:visible')
  assert.is(await page.textContent('#preview-name'), bob)
  await product.ok('POST', `/campaigns/${campaignId}/pause`, {})
  await page.click('#preview-call')
  await page.waitForSelector('#notice.bad')
  assert.is(await page.textContent('#notice'), 'The campaign is paused.')
  await page.waitForSelector('#preview', { state: 'hidden' })
  await page.close()
})

desktopTest('what was claimed is seen again after the page was loaded anew, until the claim is over', async () => {
  const { page } = await open('Slow', [{ phone: '+14155550197' }], { claim_seconds: 15 })
  await page.click('#preview-claim')
  await page.waitForSelector('#preview-call:visible')
  await page.reload()
  await page.waitForSelector('#preview-call:visible')
  await page.waitForSelector('#preview-claim:visible')
  await page.close()
})

test.run()
