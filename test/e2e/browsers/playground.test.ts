import type { Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { faultsOf, pageTests } from './pages.ts'

const test = sharedSuite('e2e/browsers/playground')
const missing = missingBrowser()

let chromium: Chromium
test.before(async () => {
  if (missing !== null) return
  chromium = keep(await Chromium.launch())
})

const pageTest = pageTests(test)

/** Fills in and sends the form of an operation. @returns what the page shows */
async function attempt(page: Page, operation: string, fields: Record<string, string> = {}): Promise<string> {
  const section = page.locator(`section#${operation}`)
  const details = section.locator('details.try')
  if ((await details.getAttribute('open')) === null) await details.locator('summary').click()
  for (const [name, value] of Object.entries(fields)) await section.locator(`[name="${name}"]`).fill(value)
  await section.locator('button').click()
  for (let tries = 0; tries < 100; tries++) {
    const text = String(await section.locator('output').textContent())
    if (text !== '' && text !== '…') return text
    await page.waitForTimeout(100)
  }
  throw new Error(`${operation} was not answered`)
}

pageTest('/docs tries operations with a test key, and loads nothing from elsewhere', async () => {
  const { page, faults } = await chromium.open(`${product.baseUrl}/docs`)
  assert.match(await attempt(page, 'listTeams'), 'Type your test key in')
  await page.locator('#test-key').fill(product.testKey)
  const made = await attempt(page, 'createTeam', { body: '{"name": "Night <b>shift</b>"}' })
  assert.match(made, /^201 /)
  const id = /team_\w+/.exec(made)?.[0] ?? ''
  assert.match(await attempt(page, 'listTeams', { 'query.limit': '1' }), id)
  const got = await attempt(page, 'getTeam', { 'path.id': id })
  for (const part of [/^200 /, /"name": "Night <b>shift<\/b>"/, /"livemode": false/]) assert.match(got, part)
  assert.is(await page.locator('output b').count(), 0, 'an answer is text')
  assert.match(
    await attempt(page, 'createTeam', { body: '{"name": "x", "nam": "y"}' }),
    /^400 [\s\S]*Did you mean name/,
  )
  // A browser logs each answer with 4xx, which is no error of the page.
  assert.equal(
    faults.filter(fault => !/status of 4/.test(fault)),
    [],
  )
})

pageTest('the playground refuses live keys, before and behind the wire', async () => {
  const { page } = await chromium.open(`${product.baseUrl}/docs`)
  await page.locator('#test-key').fill(product.liveKey)
  const refused = await attempt(page, 'listTeams')
  assert.match(refused, /Only test keys|test_key_required/)
  const headers = { authorization: `Bearer ${product.liveKey}`, 'service-playground': 'true' }
  const answer = await fetch(`${product.baseUrl}/v1/teams`, { headers })
  assert.is(answer.status, 403)
  assert.is(((await answer.json()) as { error: { code: string } }).error.code, 'test_key_required')
})

pageTest('no rule of accessibility is broken in the documentation, light and dark, wide and narrow', async () => {
  const docs = `${product.baseUrl}/docs`
  const { page } = await chromium.open(docs)
  for (const url of [docs, `${docs}/errors`, `${docs}/guides/cli.md`, `${docs}/guides/streams.md`]) {
    await page.goto(url)
    // The sections of operations are alike, and all of them take a minute.
    await page.evaluate(`for (const one of [...document.querySelectorAll('section')].slice(5)) one.remove()`)
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 360],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      assert.equal(await faultsOf(page), [], `${url}, ${colorScheme}, ${width} px`)
    }
  }
})

pageTest('the documentation does not scroll sideways in a window of 320 px', async () => {
  const docs = `${product.baseUrl}/docs`
  const { page } = await chromium.open(docs)
  await page.setViewportSize({ width: 320, height: 800 })
  for (const url of [docs, ...['sip', 'nouns', 'copilot', 'campaigns'].map(name => `${docs}/guides/${name}.md`)]) {
    await page.goto(url)
    assert.is(await page.evaluate('document.documentElement.scrollWidth'), 320, url)
  }
})

test.run()
