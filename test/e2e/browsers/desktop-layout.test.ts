import type { Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { beginCall, type Desk, openDesk, sessionOfScene, tell, WORDS } from './desktop-scenes.ts'
import { has, pageTests } from './pages.ts'

const test = sharedSuite('e2e/browsers/desktop-layout')
const missing = missingBrowser()
const pageTest = pageTests(test)

const WIDE = { width: 1280, height: 800 }
const NARROW = { width: 390, height: 844 }

let chromium: Chromium | undefined
let desk: Desk
test.before(async () => {
  if (missing !== null) return
  chromium = keep(await Chromium.launch())
  desk = await openDesk(chromium, product, '/softphone')
})
test.beforeEach(async () => {
  if (missing !== null) return
  await desk.page.setViewportSize(WIDE)
  desk.line.stop()
  await desk.page.waitForSelector('#idle:not([hidden])')
})

/** The elements that are not visible without scrolling, or are covered. */
const notOnScreen = (page: Page, selectors: string[]): Promise<string[]> =>
  page.evaluate(`${JSON.stringify(selectors)}.filter(selector => {
    const element = document.querySelector(selector)
    if (element === null) return true
    const { left, right, top, bottom } = element.getBoundingClientRect()
    if (top < 0 || left < 0 || bottom > innerHeight || right > innerWidth) return true
    const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
    return hit === null || !(element.contains(hit) || hit.contains(element))
  })`)

const placesOf = (page: Page, selectors: string[]): Promise<unknown[]> =>
  page.evaluate(`${JSON.stringify(selectors)}.map(selector => {
    const { left, top, width, height } = document.querySelector(selector).getBoundingClientRect()
    return [selector, left, top, width, height]
  })`)

const CALL = ['#mute', '#hold', '#leave']
const HELP = ['#alerts .hint', '#hints .hint', '#question', '#ask button']
const REST = [
  '#stage-name',
  '#script-next',
  '#item-open-item0',
  '#disclosures li',
  '#field-name',
  '#said li:last-child',
]

/** Sends everything that may come in the middle of a call, in its longest form. */
function flood(): void {
  for (let n = 0; n < 5; n++) {
    tell(desk.line, 'en', 'alert', {
      key: `a${n}`,
      label: `Alert ${n}`,
      message: 'word '.repeat(30),
      severity: 'warning',
    })
    tell(desk.line, 'en', 'objection', {
      key: `o${n}`,
      label: `Objection ${n}`,
      response: 'word '.repeat(60),
      follow_up: '',
    })
    const line = { utterance_id: `f${n}`, party: 'customer', text: 'word '.repeat(40), final: true }
    tell(desk.line, 'en', 'transcript', line)
  }
}

pageTest(
  'what an agent needs in a call is on the first screen, and what comes to one part moves nothing of another',
  async () => {
    const page = await beginCall(desk)
    const { height } = WIDE
    for (const size of [WIDE, { width: 1024, height }, { width: 1920, height: 1080 }]) {
      await page.setViewportSize(size)
      assert.equal(await notOnScreen(page, [...CALL, ...HELP, ...REST]), [], `${size.width} px wide`)
    }
    await page.setViewportSize(WIDE)
    const still = [...CALL, ...REST.slice(0, -1), '#question']
    const before = await placesOf(page, still)
    flood()
    await page.waitForSelector('#said-f4')
    assert.equal(await placesOf(page, still), before)
    assert.equal(await notOnScreen(page, [...CALL, ...HELP, '#said li:last-child']), [], 'the newest of each')
  },
)

pageTest(
  'on a narrow screen the call is at hand wherever one reads, and warnings stand above everything else',
  async () => {
    const page = await beginCall(desk)
    await page.setViewportSize(NARROW)
    assert.equal(await notOnScreen(page, [...CALL, '#stage-name', '#alerts .hint']), [])
    flood()
    await page.waitForSelector('#said-f4')
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    assert.equal(await notOnScreen(page, [...CALL, '#said li:last-child']), [])
    await page.evaluate('scrollTo(0, 0)')
  },
)

pageTest(
  'what takes the place of something stands where that stood, with the focus; what is withdrawn is gone',
  async () => {
    const page = await beginCall(desk)
    const objection = (label: string, more: object = {}): string =>
      tell(desk.line, 'en', 'objection', { label, response: `${label}!`, follow_up: '' }, more)
    const [first, second] = [objection('First'), objection('Second')]
    await page.focus(`#${first} button`)
    const answered = objection('First, answered', { replaces: first })
    await page.waitForSelector(`#${answered}`)
    const order = await page.$$eval('#hints .hint', hints => hints.slice(0, 2).map(({ id }) => id))
    assert.equal(order, [second, answered])
    assert.ok(await page.evaluate(`document.activeElement.closest('#${answered}') !== null`))
    assert.is(await page.locator(`#${first}`).count(), 0)
    tell(desk.line, 'en', 'objection', {}, { withdraws: second })
    await page.waitForSelector(`#${second}`, { state: 'detached' })
  },
)

pageTest('what the knowledge base has on an objection, and the source of an answer, can be read', async () => {
  const page = await beginCall(desk)
  const passages = [{ id: 'kbp_1', documentId: 'kbd_1', text: 'The line costs 39 dollars.', score: 0.8 }]
  const objection = tell(desk.line, 'en', 'objection', { label: 'Dear', response: 'No.', follow_up: '', passages })
  const sources = [{ passage_id: 'kbp_2', document_id: 'kbd_1', text: 'Open from nine to five.', score: 0.9 }]
  const asked = tell(desk.line, 'en', 'card', { question: 'When?', answer: 'At nine.', sources })
  for (const [id, text] of [
    [objection, 'The line costs 39 dollars.'],
    [asked, 'Open from nine to five.'],
  ] as const) {
    await page.click(`#${id} summary`)
    assert.ok(await page.isVisible(`#${id} >> text=${text}`), text)
  }
})

pageTest('it says what to ask and what has to be said, until that has been done', async () => {
  const page = await beginCall(desk)
  const { items, disclosure } = WORDS.en
  assert.ok(await page.isVisible(`#checklist .ask >> text=${items[0]}`))
  assert.not(await page.isVisible(`#checklist .ask >> text=${items[1]}`), 'that one is done')
  assert.ok(await page.isVisible(`#disclosures .words >> text=${disclosure}`))
  assert.is(await page.textContent('#checklist .count'), '1 of 2')
  tell(desk.line, 'en', 'checklist', { stage: 'open', key: 'item0', label: items[0], done: true, by: 'heard' })
  tell(desk.line, 'en', 'compliance', { kind: 'required_disclosure', key: 'recorded', status: 'said' })
  await page.waitForSelector('#disclosures [data-status="said"]')
  assert.equal([await page.isVisible('.ask'), await page.isVisible('.words')], [false, false])
  assert.is(await page.textContent('#checklist .count'), '2 of 2')
})

pageTest(
  'a field that is only looked at is filled in; what is being typed stays; what is refused goes back',
  async () => {
    const { line } = desk
    const page = await beginCall(desk)
    const heard = (value: string) =>
      tell(line, 'en', 'field', { key: 'name', label: 'Name', field_type: 'name', value, by: 'heard' })
    await page.focus('#field-name')
    heard('Ann')
    await has(page, '#field-name', 'Ann')
    await page.keyboard.type(' Smith')
    heard('Dan')
    tell(line, 'en', 'alert', { key: 'after', label: 'After', message: '', severity: 'info' })
    await page.waitForSelector('#alerts .hint.info')
    assert.is(await page.inputValue('#field-name'), 'Ann Smith')
    await page.keyboard.press('Tab')
    line.control({ type: 'refused', message: 'The value is none of its options, or not as its pattern says.' })
    await has(page, '#field-name', 'Dan')
    await page.selectOption('#field-plan', 'premium')
    assert.ok(line.wishes('copilot').some(wish => wish.key === 'plan' && wish.value === 'premium'))
  },
)

pageTest('without a script the agent moves the stages; a second agent is told from the customer', async () => {
  const { line } = desk
  const page = await beginCall(desk)
  assert.not(await page.isVisible('#stage-next'), 'a script leads this call')
  const of = sessionOfScene('cops_plain', WORDS.en) as { stages: object[] }
  const close = { key: 'close', label: 'Closing', goal: '', checklist: [] }
  line.control({ type: 'copilot_session', session: { ...of, script: null, stages: [...of.stages, close] } })
  await page.click('#stage-next')
  assert.ok(line.wishes('copilot').some(wish => wish.do === 'script' && wish.session_id === 'cops_plain'))
  const said = (utterance_id: string, party: string, more: object = {}) =>
    tell(
      line,
      'en',
      'transcript',
      { utterance_id, party, text: 'Yes', final: true, ...more },
      { session_id: 'cops_plain' },
    )
  said('a', 'agent', { aside: true })
  said('b', 'other')
  await page.waitForSelector('#said-b')
  assert.equal(await page.$$eval('#said li', lines => lines.map(one => one.textContent)), [
    'You (on hold): Yes',
    'Colleague: Yes',
  ])
  line.control({ type: 'copilot_gone', session_id: 'cops_plain' })
  await page.waitForSelector('#copilot', { state: 'hidden' })
})

test.run()
