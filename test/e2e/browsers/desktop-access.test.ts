import type { Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { beginCall, type Desk, type Language, openDesk, ring, showFloor, showPreview, tell } from './desktop-scenes.ts'
import { faultsOf, pageTests } from './pages.ts'

const test = sharedSuite('e2e/browsers/desktop-access')
const missing = missingBrowser()
const pageTest = pageTests(test)

const CONTRAST = ['color-contrast']

let chromium: Chromium | undefined
/** One page of each kind for all tests; each test brings it into the state that it needs. */
let desk: Desk
let floor: Desk
test.before(async () => {
  if (missing !== null) return
  chromium = keep(await Chromium.launch())
  desk = await openDesk(chromium, product, '/softphone')
  floor = await openDesk(chromium, product, '/supervisor')
})
test.beforeEach(async () => {
  if (missing !== null) return
  for (const { page } of [desk, floor]) {
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
    await page.setViewportSize(WIDE)
  }
  desk.line.stop()
  await desk.page.waitForSelector('#idle:not([hidden])')
})

const WIDE = { width: 1280, height: 800 }
const NARROW = { width: 360, height: 800 }

const inCall = (language: Language = 'en'): Promise<Page> => beginCall(desk, language)

async function onFloor(): Promise<Page> {
  showFloor(floor.line, { label: 'Wants to cancel', message: 'Call the customer back' })
  await floor.page.waitForSelector('#floor-calls tr')
  return floor.page
}

/** Controls that are outside of the screen, or covered by something else. */
const unreachable = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const wrong = []
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth > clientWidth) wrong.push('the page is ' + scrollWidth + ' px wide on ' + clientWidth)
    for (const details of document.querySelectorAll('details')) details.open = true
    for (const control of document.querySelectorAll('button, input, select, summary, a[href]')) {
      if (!control.checkVisibility() || control.disabled) continue
      control.scrollIntoView({ block: 'center' })
      const { left, right, top, height, width } = control.getBoundingClientRect()
      const name = control.tagName + ' ' + (control.id || control.textContent)
      if (left < 0 || right > clientWidth) wrong.push(name + ' is from ' + left + ' to ' + right)
      if (width < 20 || height < 20) wrong.push(name + ' is ' + width + ' by ' + height)
      const hit = document.elementFromPoint(left + width / 2, top + height / 2)
      const isReached = hit !== null && (control.contains(hit) || hit.contains(control))
      if (!isReached) wrong.push(name + ' is under ' + (hit === null ? 'nothing' : hit.id))
    }
    return wrong
  })()`)

/** Role and name of everything focusable in the accessibility tree. */
async function focusable(page: Page): Promise<{ role: string; name: string }[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  return nodes
    .filter(
      ({ ignored, properties }) => !ignored && properties?.some(one => one.name === 'focusable' && one.value.value),
    )
    .map(({ role, name }) => ({ role: String(role?.value ?? ''), name: String(name?.value ?? '').trim() }))
    .filter(({ role }) => role !== 'RootWebArea')
}

/** Live regions and their text. */
async function live(page: Page): Promise<{ live: string; text: string }[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  const byId = new Map(nodes.map(node => [node.nodeId, node]))
  const textOf = (node: (typeof nodes)[number]): string =>
    `${node.role?.value === 'StaticText' ? node.name?.value : ''} ${(node.childIds ?? []).map(id => textOf(byId.get(id)!)).join(' ')}`
  return nodes.flatMap(node => {
    const region = node.properties?.find(({ name }) => name === 'live')
    return region === undefined || !node.properties?.some(({ name }) => name === 'root' || name === 'live')
      ? []
      : [{ live: String(region.value.value), text: textOf(node).replaceAll(/\s+/g, ' ').trim() }]
  })
}

pageTest(
  'no rule of accessibility is broken on the desktop, light and dark: contrast of text is 4.5 to 1',
  async () => {
    const { page, line } = desk
    const inBoth = async (state: string, rules?: string[]): Promise<void> => {
      await page.emulateMedia({ colorScheme: 'light' })
      assert.equal(await faultsOf(page, rules), [], `${state}, light`)
      await page.emulateMedia({ colorScheme: 'dark' })
      assert.equal(await faultsOf(page, CONTRAST), [], `${state}, dark`)
    }
    await inBoth('idle', CONTRAST)
    await ring(desk)
    await inBoth('ringing', CONTRAST)
    await inCall()
    await page.click('#mute')
    line.control({ type: 'refused', message: 'That could not be done.' })
    await page.waitForSelector('#notice.bad')
    await inBoth('in a call')
  },
)

pageTest('no rule of accessibility is broken on the floor, light and dark', async () => {
  const { line } = floor
  await onFloor()
  line.control({ type: 'listening', call_id: 'call_1', mode: 'monitor' })
  const page = await onFloor()
  await page.waitForSelector('#floor-calls [aria-pressed="true"]')
  assert.equal(await faultsOf(page), [])
  await page.emulateMedia({ colorScheme: 'dark' })
  assert.equal(await faultsOf(page, CONTRAST), [])
  line.control({ type: 'listening', call_id: 'call_1', mode: 'stop' })
})

pageTest('on a screen of 360 px nothing is beside it and everything can be reached', async () => {
  const { page } = desk
  await page.setViewportSize(NARROW)
  assert.equal(await unreachable(page), [], 'idle')
  for (const language of ['en', 'he'] as const) {
    await inCall(language)
    assert.equal(await unreachable(page), [], `in a call, ${language}`)
  }
  await floor.page.setViewportSize(NARROW)
  await onFloor()
  assert.equal(await unreachable(floor.page), [], 'the floor')
  assert.equal(await faultsOf(floor.page, ['wcag2a', 'wcag2aa', 'best-practice']), [], 'the floor, drawn as cards')
})

pageTest('a contact that is looked at breaks no rule, is reached on a narrow screen, and needs no mouse', async () => {
  const { page, line } = desk
  showPreview(line, 'דנה כהן')
  await page.waitForSelector('#preview-call:visible')
  assert.equal(await faultsOf(page), [], 'light')
  await page.emulateMedia({ colorScheme: 'dark' })
  assert.equal(await faultsOf(page, CONTRAST), [], 'dark')
  await page.setViewportSize(NARROW)
  assert.equal(await unreachable(page), [])
  await tabTo(page, '#preview-call')
  await page.keyboard.press('Enter')
  await until(() => line.wishes('preview').some(wish => wish.do === 'call' && wish.contact_id === 'cct_1'))
  await tabTo(page, '#preview-reason')
  await page.keyboard.type('Moved 2')
  await page.keyboard.press('Enter')
  await until(() => line.wishes('preview').some(wish => wish.do === 'skip' && wish.reason === 'Moved 2'))
  showPreview(line, null)
  await page.waitForSelector('#preview', { state: 'hidden' })
})

pageTest('a Hebrew call runs from right to left, an English one from left to right', async () => {
  const page = await inCall('he')
  const styleOf = (selector: string, property: string): Promise<string> =>
    page.evaluate(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`)
  for (const selector of ['#copilot', '#stage-name', '#said li', '#alerts .hint', '#checklist .item span']) {
    assert.is(await styleOf(selector, 'direction'), 'rtl', selector)
  }
  assert.equal(
    [await styleOf('.hint', 'border-right-width'), await styleOf('.hint', 'border-left-width')],
    ['4px', '1px'],
  )
  // A sentence of ours stands at the same side, in its own direction.
  assert.equal([await styleOf('#mood', 'direction'), await styleOf('#mood', 'text-align')], ['ltr', 'right'])
  // A telephone number stands as it is dialled.
  assert.is(await styleOf('#field-phone', 'direction'), 'ltr')
  await inCall('en')
  assert.is(await styleOf('#copilot', 'direction'), 'ltr')
})

pageTest('every control has a role and a name, and alerts are announced on the desktop and on the floor', async () => {
  const page = await inCall()
  const controls = await focusable(page)
  assert.equal(
    controls.filter(({ role, name }) => role === '' || role === 'generic' || name === ''),
    [],
  )
  const has = (role: string, name: RegExp): void =>
    assert.ok(
      controls.some(one => one.role === role && name.test(one.name)),
      `${role} ${name}`,
    )
  has('button', /^Mute$/)
  has('checkbox', /Account number/)
  has('textbox', /Name of the account owner/)
  has('button', /^Dismiss: Wants to cancel$/)
  has('link', /Price list/)
  const regions = await live(page)
  const isTold = (politeness: string, text: RegExp): boolean =>
    regions.some(region => region.live === politeness && text.test(region.text))
  assert.ok(isTold('assertive', /Wants to cancel/) && isTold('assertive', /we guarantee/))
  assert.ok(isTold('polite', /Too expensive/))
  const buttons = await focusable(await onFloor())
  for (const name of ['Listen', 'Whisper', 'Barge in']) {
    assert.ok(
      buttons.some(one => one.role === 'button' && one.name.startsWith(`${name}: Agent 1`)),
      name,
    )
  }
  const told = (await live(floor.page)).filter(region => region.live === 'assertive')
  assert.ok(
    told.some(({ text }) => /Agent 1.*Wants to cancel/.test(text)),
    JSON.stringify(told),
  )
})

pageTest(
  'what a call comes to is shown when it is over: in words, with next steps, and with what is missing',
  async () => {
    const page = await inCall()
    const data = {
      ...{ text: 'Ann moves house.', next_steps: ['Send the form.'], not_done: [{ stage: 'open', key: 'item0' }] },
      fields: [{ key: 'phone', label: 'Phone', value: '+15551234567' }],
      missing: [{ key: 'name', label: 'Name of the account owner' }],
    }
    tell(desk.line, 'en', 'summary', data)
    const shown = String(await page.textContent('#hints .summary'))
    for (const part of [
      'Ann moves house.',
      'Send the form.',
      'Phone: +15551234567',
      'Not told: Name of the account owner',
      'Not done: Account number',
    ]) {
      assert.ok(shown.includes(part), `${part} in ${shown}`)
    }
  },
)

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)})`)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`no way to ${selector} by the keyboard`)
}

const hasOutline = (page: Page): Promise<boolean> =>
  page.evaluate(`getComputedStyle(document.activeElement).outlineStyle !== 'none'`)

async function until(fact: () => boolean): Promise<void> {
  while (!fact()) await new Promise(resolve => setTimeout(resolve, 20))
}

pageTest('an agent needs no mouse: accept, tick, correct, answer, dismiss, ask, hold and hang up', async () => {
  const { page, line } = desk
  await ring(desk)
  await tabTo(page, '#accept')
  await page.keyboard.press('Enter')
  await until(() => line.sent.some(({ event }) => event === 'accept'))
  await inCall()
  await tabTo(page, '#hold')
  assert.ok(await hasOutline(page), 'the focus is seen')
  await page.keyboard.press('Space')
  await until(() => line.wishes('hold').length === 1)
  await tabTo(page, '#alerts .hint button')
  const first = await page.evaluate<string>(`document.activeElement.closest('.hint').id`)
  await page.keyboard.press('Enter')
  await until(() => line.wishes('copilot').some(wish => wish.do === 'dismiss' && wish.message_id === first))
  tell(line, 'en', 'alert', {}, { withdraws: first })
  await page.waitForSelector(`#${first}`, { state: 'detached' })
  assert.ok(
    await page.evaluate(`document.activeElement.closest('#alerts') !== null`),
    'who has dismissed one stands at the next',
  )
  await tabTo(page, '#script-next')
  await page.keyboard.press('Enter')
  await until(() => line.wishes('copilot').some(wish => wish.do === 'script'))
  await tabTo(page, '#item-open-item0')
  await page.keyboard.press('Space')
  await until(() => line.wishes('copilot').some(wish => wish.do === 'checklist' && wish.done === true))
  await tabTo(page, '#field-name')
  await page.keyboard.type('Ann Smith 2')
  await page.keyboard.press('Tab')
  await until(() => line.wishes('copilot').some(wish => wish.do === 'field' && wish.value === 'Ann Smith 2'))
  assert.not(line.sent.some(({ event }) => event === 'dtmf'))
  await tabTo(page, '#question')
  await page.keyboard.type('When are you open?')
  await page.keyboard.press('Enter')
  await until(() => line.wishes('copilot').some(wish => wish.do === 'ask'))
  await page.keyboard.press('Shift+Tab')
  await tabTo(page, '#leave')
  await page.keyboard.press('Enter')
  await until(() => line.sent.some(({ event }) => event === 'stop'))
})

pageTest('a supervisor needs no mouse, and the focus stays where it is while the floor is drawn anew', async () => {
  const { page, line } = floor
  await onFloor()
  for (const mode of ['monitor', 'whisper', 'barge']) {
    await tabTo(page, `#floor-calls button[data-call-id="call_2"][data-mode="${mode}"]`)
    await page.keyboard.press('Enter')
    await until(() => line.wishes('supervise').some(wish => wish.mode === mode && wish.call_id === 'call_2'))
    await onFloor()
    await page.waitForFunction(`document.activeElement.dataset.mode === '${mode}'`)
  }
})

test.run()
