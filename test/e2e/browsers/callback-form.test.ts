import { request as ask, createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { Product } from '../../../bench/product.ts'
import { suite } from '../../harness.ts'
import { curtain } from '../scene.ts'
import { Chromium, missingBrowser } from './chromium.ts'
import { pageTests } from './pages.ts'

const test = suite('e2e/browsers/callback-form')
const missing = missingBrowser()

/** Tandem's address of which a path of the website is the proxy (`TANDEM_PUBLIC_URL` with a path). */
const BEHIND = '/voice'

/** A website that shows the form; its other content is the test's. */
class Website {
  html = ''
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      const { method, headers, url = '' } = request
      if (url.startsWith(BEHIND)) {
        const passed = ask(
          product.baseUrl + url.slice(BEHIND.length),
          { method, headers: { ...headers, 'x-forwarded-for': '203.0.113.8' } },
          answer => {
            response.writeHead(answer.statusCode ?? 502, answer.headers)
            answer.pipe(response)
          },
        )
        request.pipe(passed)
        return
      }
      const isPage = request.url?.startsWith('/prices') === true
      response.writeHead(isPage ? 200 : 204, { 'Content-Type': 'text/html; charset=utf-8' })
      response.end(isPage ? this.html : undefined)
    })
  }

  static async open(): Promise<Website> {
    const website = new Website()
    await new Promise<void>(done => website.#server.listen(0, '127.0.0.1', done))
    return website
  }

  get origin(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

let product: Product
let chromium: Chromium
let shop: Website
let stranger: Website
test.before(async () => {
  if (missing !== null) return
  shop = await Website.open()
  stranger = await Website.open()
  product = await Product.start({ env: { TANDEM_TRUSTED_PROXIES: '127.0.0.0/8' } })
  chromium = await Chromium.launch()
})
test.after(async () => {
  await chromium?.close()
  shop?.close()
  stranger?.close()
  await curtain(product)
})

const pageTest = pageTests(test)

interface Site {
  id: string
  script_url: string
}

const newSite = (fields: object = {}): Promise<Site> =>
  product.ok('POST', '/sites', { name: 'Shop', origins: [shop.origin], ...fields })

/** Opens a page with the script tag of docs/web.md. */
async function visit(site: Site, { at = shop, lang = 'en' } = {}): Promise<{ page: Page; faults: string[] }> {
  const tag = `<script src="${site.script_url}" data-site="${site.id}" async></script>`
  at.html = `<!doctype html><html lang="${lang}"><title>Prices</title><h1>Prices</h1>${tag}</html>`
  const opened = await chromium.open(`${at.origin}/prices?from=ad`)
  opened.page.setDefaultTimeout(15_000)
  return opened
}

const ofOthers = (faults: string[]): string[] =>
  faults.filter(fault => !fault.startsWith(`loads ${product.baseUrl}/sites/`))

const callbacksOf = async (site: Site) =>
  (await product.all('/callbacks')).filter((one: { site_id: string | null }) => one.site_id === site.id)

pageTest(
  'a visitor fills the form in with the keyboard alone, and is booked with the page and its language',
  async () => {
    const site = await newSite({ fields: { name: 'required', message: 'optional' } })
    const { page, faults } = await visit(site)
    const phone = page.getByLabel('Phone number')
    await phone.focus()
    await page.keyboard.type('+14155552671')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Ann')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Which size?')
    await page.keyboard.press('Tab')
    assert.is(await page.evaluate('document.activeElement.textContent'), 'Call me back', 'nobody comes to the trap')
    await page.keyboard.press('Enter')
    await page.getByText('Thank you.').waitFor()
    assert.is(await page.evaluate('document.activeElement.getAttribute("role")'), 'status', 'the focus is not lost')
    const [callback] = await callbacksOf(site)
    assert.equal(
      [callback.phone, callback.name, callback.source, callback.context.web],
      ['+14155552671', 'Ann', 'web', { page: `${shop.origin}/prices?from=ad`, language: 'en' }],
    )
    assert.equal(ofOthers(faults), [])
  },
)

pageTest('what was wrong is said in the language of the page, at its field, and can be put right', async () => {
  const site = await newSite()
  const { page } = await visit(site, { lang: 'he-IL' })
  const phone = page.getByLabel('מספר טלפון')
  assert.is(await page.locator('.tandem-callback').getAttribute('dir'), 'rtl')
  assert.is(await page.locator('.tandem-callback').getAttribute('lang'), 'he')
  await phone.fill('nothing')
  await page.click('.tandem-callback button')
  const alert = page.locator('.tandem-callback [role=alert]')
  await alert.getByText('מספר').waitFor()
  assert.not.match(String(await alert.textContent()), /[a-z]/i)
  assert.is(await phone.getAttribute('aria-invalid'), 'true')
  assert.is(await phone.getAttribute('aria-describedby'), await alert.getAttribute('id'))
  assert.is(await page.evaluate('document.activeElement.name'), 'phone')
  await phone.fill('+14155552672')
  await page.click('.tandem-callback button')
  await page.getByText('תודה').waitFor()
  assert.is((await callbacksOf(site))[0].context.web.language, 'he-IL')
})

pageTest('a tag that is no language tag, and a proxy with a path, keep nobody from the form', async () => {
  const site = await newSite()
  const { pathname } = new URL(site.script_url)
  const { page } = await visit({ ...site, script_url: shop.origin + BEHIND + pathname }, { lang: 'he_IL' })
  await page.getByLabel('מספר טלפון').fill('+14155552674')
  await page.click('.tandem-callback button')
  await page.getByText('תודה').waitFor()
  assert.is((await callbacksOf(site))[0].context.web.language, 'he-IL')
})

pageTest('a page of another website shows no form, and cannot send one', async () => {
  const site = await newSite()
  const { page, faults } = await visit(site, { at: stranger })
  await product.until('the refusal', async () => (faults.some(fault => /403|CORS/.test(fault)) ? true : null))
  assert.is(await page.locator('.tandem-callback').count(), 0)
  const send = `fetch('${product.baseUrl}/sites/${site.id}/callbacks', { method: 'POST',
    headers: { 'Content-Type': 'application/json' }, body: '{}' }).then(() => 'sent', () => 'refused')`
  assert.is(await page.evaluate(send), 'refused')
  assert.equal(await callbacksOf(site), [])
})

pageTest('a robot that fills in every field is refused, and so is one that sends a proof again', async () => {
  const site = await newSite()
  const { page } = await visit(site)
  await page.getByLabel('Phone number').fill('+14155552673')
  await page.evaluate('document.querySelector("[name=website]").value = "https://spam.example"')
  await page.click('.tandem-callback button')
  await page.locator('.tandem-callback [role=alert]').getByText('did not work').waitFor()
  assert.equal(await callbacksOf(site), [])
  await page.evaluate('document.querySelector("[name=website]").value = ""')
  const sent = page.waitForRequest(request => request.method() === 'POST')
  await page.click('.tandem-callback button')
  await page.getByText('Thank you.').waitFor()
  const body = (await sent).postData()
  // From another address, since five requests of one address are the limit.
  const headers = { 'content-type': 'application/json', origin: shop.origin, 'x-forwarded-for': '203.0.113.9' }
  const again = await fetch(`${product.baseUrl}/sites/${site.id}/callbacks`, { method: 'POST', headers, body })
  const { error } = (await again.json()) as { error: { param: string } }
  assert.equal([again.status, error.param], [400, 'solution'])
  assert.is((await callbacksOf(site)).length, 1)
})

test.run()
