import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { RestClient } from '../../../bench/rest-client.ts'
import { loudness } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { Bot } from '../bot.ts'
import { callFrom, endedCall, keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { hearsSpeech, newMember, pageTests, SPOKEN_DBOV, startPage } from './pages.ts'

const test = sharedSuite('e2e/browsers/browser-softphone')
const missing = missingBrowser()
const SLOW = { timeoutMs: 90_000 }

let chromium: Chromium | undefined
test.before(async () => {
  if (missing === null) chromium = keep(await Chromium.launch())
})

/** Calls a phone, and puts it through to the member. */
async function callFor(userId: string): Promise<{ phone: Phone; call: PhoneCall; callId: string }> {
  const phone = await Phone.open('caller')
  const { id: callId } = await product.ok('POST', '/calls', { to: phone.uri, user_id: userId })
  const call = await phone.next()
  call.answer()
  return { phone, call, callId }
}

/** Lets a phone wait in a queue of the member. */
async function waiterFor(userId: string): Promise<{ phone: Phone; call: PhoneCall; callId: string }> {
  const fields = { name: 'Softphones', member_user_ids: [userId], wrap_up_seconds: 60 }
  const { id: queueId } = await product.ok('POST', '/queues', fields)
  await product.ok('POST', '/inbound_routes', { match: { to: '4600' }, target: { type: 'queue', id: queueId } })
  const phone = await Phone.open('caller')
  const call = await phone.call('4600', product.sip)
  return { phone, call, callId: (await callFrom(product, 'caller')).id }
}

const softphoneTest = pageTests(test)
const newAgent = () => newMember(product)

softphoneTest(
  'the softphone rings for a caller of a queue, accepts, is heard, holds and hangs up; wrap-up follows',
  async () => {
    const { userId, token } = await newAgent()
    const { page, faults } = await startPage(chromium!, product, { path: '/softphone', token })
    await page.selectOption('#status', 'available')
    await product.until('the agent is available', async () =>
      (await product.ok('GET', `/agents/${userId}/status`)).status === 'available' ? true : null,
    )
    const { phone, call, callId } = await waiterFor(userId)
    await page.waitForSelector('#ringing:not([hidden])')
    assert.match(String(await page.textContent('#caller')), 'sip:caller@')
    await page.click('#accept')
    await page.waitForSelector('#call:not([hidden])')
    await product.until('its audio goes over WebRTC', async () =>
      (await page.textContent('#way')) === 'Audio over WebRTC' ? true : null,
    )
    assert.ok(await hearsSpeech(call), 'the caller hears the agent')
    const codecs = (await product.ok('GET', `/calls/${callId}`)).quality.map(({ codec }: { codec: string }) => codec)
    assert.ok(codecs.includes('opus'), `${codecs}`)
    await page.click('#hold')
    await page.waitForSelector('#hold[aria-pressed="true"]')
    assert.is((await product.ok('GET', `/calls/${callId}`)).status, 'held')
    await page.click('#hold')
    await page.waitForSelector('#hold[aria-pressed="false"]')
    const asked = page.waitForEvent('dialog')
    void page.close({ runBeforeUnload: true })
    const dialog = await asked
    assert.is(dialog.type(), 'beforeunload', 'who closes the page in a call is asked')
    await dialog.dismiss()
    await page.click('#leave')
    await page.waitForSelector('#idle:not([hidden])')
    await endedCall(product, callId)
    assert.is((await product.ok('GET', `/agents/${userId}/status`)).status, 'wrap_up')
    const events = await product.all(`/calls/${callId}/events`)
    const types = events.map(({ type }) => type)
    assert.ok(types.includes('queue.call.offered') && types.includes('queue.call.left'))
    assert.is(events.find(({ type }) => type === 'call.held')?.request, null, 'no request of the API caused it')
    assert.equal(faults, [])
    await phone.close()
  },
)

softphoneTest('a softphone survives a reload and a lost network: its agent stays available, and it rings', async () => {
  const { userId, token } = await newAgent()
  const { page } = await chromium!.open(`${product.baseUrl}/softphone#client_token=${token}`, async page => {
    await page.addInitScript(`globalThis.opened = []
      globalThis.WebSocket = class extends WebSocket {
        constructor(...to) { super(...to); opened.push(this) }
      }`)
  })
  const statusOf = async (): Promise<string> => (await product.ok('GET', `/agents/${userId}/status`)).status
  const isAvailable = () =>
    product.until('the agent is available', async () => ((await statusOf()) === 'available' ? true : null))
  await page.click('#start')
  await page.waitForSelector('#idle:not([hidden])')
  await page.selectOption('#status', 'available')
  await isAvailable()
  const kept = () => page.evaluate('sessionStorage.getItem("tandem-softphone-tokens")')
  await product.until('it has a token for the next time', async () => ((await kept()) === null ? null : true))
  await page.reload()
  // Without a click.
  await page.waitForSelector('#idle:not([hidden])')
  await product.until('the page shows what was set', async () =>
    (await page.inputValue('#status')) === 'available' ? true : null,
  )
  await page.evaluate('opened.at(-1).close()')
  await product.until('it has connected again', async () =>
    (await page.evaluate('opened.length')) === 2 ? true : null,
  )
  await product.until('the page shows it again', async () =>
    (await page.inputValue('#status')) === 'available' ? true : null,
  )
  const types = (await product.all('/events?type=agent.status.changed')).filter(
    ({ data }) => data.object.user_id === userId,
  )
  assert.is(types.length, 1, 'set once, and never changed by what happened to the page')
  const { phone } = await callFor(userId)
  await page.waitForSelector('#ringing:not([hidden])')
  await phone.close()
  await page.close()
})

softphoneTest('a reload while it rings: it rings again for the same caller, who hears whoever accepts', async () => {
  const { userId, token } = await newAgent()
  const { page } = await startPage(chromium!, product, { path: '/softphone', token })
  await product.until('it has a token for the next time', async () =>
    (await page.evaluate('sessionStorage.getItem("tandem-softphone-tokens")')) === null ? null : true,
  )
  const { phone, call, callId } = await callFor(userId)
  await page.waitForSelector('#ringing:not([hidden])')
  const caller = await page.textContent('#caller')
  await page.reload()
  // Without a click.
  await page.waitForSelector('#ringing:not([hidden])')
  assert.is(await page.textContent('#caller'), caller)
  await page.click('#accept')
  assert.ok(await hearsSpeech(call), 'the caller hears the agent')
  await page.click('#leave')
  await page.waitForSelector('#idle:not([hidden])')
  await endedCall(product, callId)
  await phone.close()
  await page.close()
})

softphoneTest('a reload in mid-call: the caller stays, and both hear each other again', async () => {
  const { userId, token } = await newAgent()
  const { page } = await startPage(chromium!, product, { path: '/softphone', token })
  await product.until('it has a token for the next time', async () =>
    (await page.evaluate('sessionStorage.getItem("tandem-softphone-tokens")')) === null ? null : true,
  )
  const { phone, call, callId } = await callFor(userId)
  await page.waitForSelector('#ringing:not([hidden])')
  const caller = await page.textContent('#caller')
  await page.click('#accept')
  assert.ok(await hearsSpeech(call), 'the caller hears the agent')
  await page.click('#hold')
  await page.waitForSelector('#hold[aria-pressed="true"]')
  await page.reload()
  // Without a click.
  await page.waitForSelector('#call:not([hidden])')
  assert.is(await page.textContent('#with'), caller)
  await page.waitForSelector('#hold[aria-pressed="true"]')
  await page.click('#hold')
  await page.waitForSelector('#hold[aria-pressed="false"]')
  assert.ok(await hearsSpeech(call), 'the caller hears the agent again')
  call.say(tone(700))
  await product.until('the agent hears the caller', async () =>
    Number(await page.evaluate('document.getElementById("heard").value')) > 0.3 ? true : null,
  )
  assert.is((await product.ok('GET', `/calls/${callId}`)).status, 'in_progress')
  await page.click('#leave')
  await page.waitForSelector('#idle:not([hidden])')
  await endedCall(product, callId)
  await phone.close()
  await page.close()
})

softphoneTest('the tab names who rings only while it rings, and the page says why it rings no more', async () => {
  const { userId, token } = await newAgent()
  const { page } = await startPage(chromium!, product, { path: '/softphone', token })
  const first = await callFor(userId)
  await page.waitForSelector('#ringing:not([hidden])')
  assert.match(await page.title(), first.phone.name)
  await page.click('#decline')
  await page.waitForSelector('#idle:not([hidden])')
  assert.is(await page.title(), 'Softphone')
  await first.phone.close()
  const second = await callFor(userId)
  await page.waitForSelector('#ringing:not([hidden])')
  void second.call.hangup()
  await page.waitForSelector('#idle:not([hidden])')
  assert.equal([await page.title(), await page.textContent('#notice')], ['Softphone', 'The caller has gone.'])
  await second.phone.close()
  await page.close()
})

softphoneTest(
  'a colleague who puts the call on hold is seen to do so, and one can put them on hold meanwhile',
  async () => {
    const callee = await newAgent()
    await product.ok('PATCH', `/users/${callee.userId}`, { extension: '311' })
    const bot = await Bot.connect(callee.wsUrl, callee.token)
    const { page } = await startPage(chromium!, product, { path: '/softphone', token: (await newAgent()).token })
    await page.fill('#number', '311')
    await page.click('#dial button[type="submit"]')
    await bot.until(message => message.event === 'ring')
    bot.send({ event: 'accept' })
    await bot.until(message => message.event === 'start')
    bot.send({ event: 'control', control: { type: 'hold' } })
    await page.waitForSelector('#state:text-is("You are on hold")')
    assert.is(await page.getAttribute('#hold', 'aria-pressed'), 'false')
    await page.click('#hold')
    await page.waitForSelector('#hold[aria-pressed="true"]')
    await bot.until(({ control }) => control?.type === 'on_hold' && control.held === true)
    bot.send({ event: 'control', control: { type: 'unhold' } })
    await page.waitForSelector('#state:text-is("Calling")')
    assert.is(await page.getAttribute('#hold', 'aria-pressed'), 'true')
    await page.click('#leave')
    await bot.close()
    await page.close()
  },
)

softphoneTest('who dials is told by the page how it ended: busy, declined, hung up', async () => {
  const phone = await Phone.open('callee')
  const [host = '', port = ''] = phone.uri.replace(/^sip:[^@]*@/, '').split(':')
  await product.ok('POST', '/connections', { name: 'Trunk', kind: 'trunk', host, port: Number(port) })
  const { page } = await startPage(chromium!, product, { path: '/softphone', token: (await newAgent()).token })
  const dial = async () => {
    await page.fill('#number', '+4930123456')
    await page.click('#dial button[type="submit"]')
    return phone.next()
  }
  const said = async (text: string) => {
    await page.waitForSelector(`#notice:text-is("${text}")`)
    await page.waitForSelector('#idle:not([hidden])')
  }
  for (const [status, text] of [
    [486, 'The line is busy.'],
    [603, 'The call was declined.'],
  ] as const) {
    const refused = await dial()
    refused.reject(status)
    await said(text)
  }
  const call = await dial()
  call.answer()
  await call.confirmed
  await call.hangup()
  await said('The other one has hung up.')
  await phone.close()
  await page.close()
})

softphoneTest('a tab that was duplicated takes the softphone, and the other one says so', async () => {
  const { token } = await newAgent()
  const { page } = await startPage(chromium!, product, { path: '/softphone', token })
  await product.until('it has a token for the next time', async () =>
    (await page.evaluate('sessionStorage.getItem("tandem-softphone-tokens")')) === null ? null : true,
  )
  const [copy] = await Promise.all([page.waitForEvent('popup'), page.evaluate('void open(location.href)')])
  await copy.waitForSelector('#idle:not([hidden])')
  await page.waitForSelector('#notice:text-is("This softphone is open in another tab now.")')
  await copy.close()
  await page.close()
})

softphoneTest('the softphone dials a colleague by the extension, and hangs up', async () => {
  const callee = await newAgent()
  await product.ok('PATCH', `/users/${callee.userId}`, { extension: '310' })
  const bot = await Bot.connect(callee.wsUrl, callee.token)
  const { userId, token } = await newAgent()
  const { page, faults } = await startPage(chromium!, product, { path: '/softphone', token })
  for (const key of '310') await page.click(`#dialpad button[value="${key}"]`)
  await page.click('#dial button[type="submit"]')
  await page.waitForSelector('#call:not([hidden])')
  const { ring } = await bot.until(message => message.event === 'ring')
  bot.send({ event: 'accept' })
  await bot.until(message => message.event === 'start')
  assert.ok(loudness(await bot.listen(3000)) > SPOKEN_DBOV, 'the colleague hears the member')
  const agent = await product.ok('GET', `/agents/${userId}/status`)
  assert.equal([agent.status, agent.call.call_id], ['busy', ring?.call_id])
  await page.click('#leave')
  await page.waitForSelector('#idle:not([hidden])')
  await bot.until(message => message.event === 'stop')
  assert.equal(faults, [])
  await bot.close()
})

test(
  'a softphone of a test-mode member dials sandbox numbers, and nobody outside',
  async () => {
    const asTest = new RestClient(product.baseUrl, product.testKey)
    const { wsUrl, token } = await newMember(asTest)
    const bot = await Bot.connect(wsUrl, token)
    bot.send({ event: 'control', control: { type: 'dial', to: '+15557654321' } })
    const { control } = await bot.until(message => message.control?.type === 'refused')
    assert.match(String(control?.message), 'sandbox')
    bot.send({ event: 'control', control: { type: 'dial', to: '+15005550006' } })
    const { ring } = await bot.until(message => message.event === 'ring')
    assert.is(ring?.dialled, '+15005550006')
    bot.send({ event: 'accept' })
    const call = await product.until('the number has answered', async () => {
      const [one] = (await asTest.ok('GET', '/calls')).data
      return one?.status === 'in_progress' ? one : null
    })
    assert.equal([call.direction, call.to, call.livemode], ['outbound', '+15005550006', false])
    bot.send({ event: 'stop' })
    await product.until('it has ended', async () =>
      (await asTest.ok('GET', `/calls/${call.id}`)).ended_reason === 'agent_hangup' ? true : null,
    )
    await bot.close()
  },
  SLOW,
)

test(
  'a softphone that declines, and one that is gone, ring no longer; a bot can be one',
  async () => {
    const { userId, token, wsUrl } = await newAgent()
    const bot = await Bot.connect(wsUrl, token)
    const { phone, callId } = await callFor(userId)
    const { ring } = await bot.until(message => message.event === 'ring')
    assert.is(ring?.call_id, callId)
    bot.send({ event: 'stop' })
    await bot.until(message => message.event === 'stop')
    await phone.close()
    await bot.close()
    const refused = await product.until('it is unreachable', async () => {
      const { status } = await product.api('POST', `/calls/${callId}/transfer`, { user_id: userId })
      return status >= 400 ? status : null
    })
    assert.is(refused, 409)
  },
  SLOW,
)

test.run()
