import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import type { Product } from '../../../bench/product.ts'
import type { RestClient } from '../../../bench/rest-client.ts'
import { loudness } from '../../../bench/spectrum.ts'
import type { Suite } from '../../harness.ts'
import { type Chromium, missingBrowser } from './chromium.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')

/** Speech is louder than this, and a muted microphone is not. */
export const SPOKEN_DBOV = -45

/** Adds tests that need a browser; they are skipped, with the reason, if there is none. */
export const pageTests =
  (test: Suite, timeoutMs = 90_000) =>
  (sentence: string, run: () => unknown): void => {
    const missing = missingBrowser()
    test(sentence, run, { timeoutMs, missing })
  }

/** Whether the phone hears speech within some seconds, since a recording has pauses. */
export async function hearsSpeech(call: PhoneCall, seconds = 6): Promise<boolean> {
  for (let half = 0; half < 2 * seconds; half++) {
    if (loudness(await call.heard.next(500)) > SPOKEN_DBOV) return true
  }
  return false
}

/** Whether what was under way when a microphone was muted ends within some seconds: where page, product and phone wait for a core, that is more than a moment. */
export async function fallsSilent(call: PhoneCall, seconds = 3): Promise<boolean> {
  for (let half = 0; half < 2 * seconds; half++) {
    if (loudness(await call.heard.next(500)) <= SPOKEN_DBOV) return true
  }
  return false
}

/** Time limit for `has`, as for a selector [ms]. */
const FIELD_MS = 30_000

/** Resolves when a field has this value. Polls from outside, since the page's content security policy forbids evaluating a condition within the page. */
export async function has(page: Page, selector: string, value: string): Promise<void> {
  for (const from = performance.now(); ; ) {
    const found = await page.inputValue(selector)
    if (found === value) return
    if (performance.now() - from > FIELD_MS) throw new Error(`${selector} has '${found}', not '${value}'`)
    await new Promise(later => setTimeout(later, 50))
  }
}

/** Violations of WCAG 2.2 AA and of good practice, including contrast of the rendered colours. */
export async function faultsOf(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(`window.axe === undefined && (() => { ${AXE} })()`)
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as {
    violations: { id: string; nodes: { target: string[]; failureSummary?: string }[] }[]
  }
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary = '' }) => `${id} ${target.join(' ')}: ${failureSummary.replaceAll(/\s+/g, ' ')}`,
    ),
  )
}

interface Member {
  userId: string
  token: string
  wsUrl: string
}

let members = 0

/** An active member of the organisation, with a token for its pages. */
export async function newMember(product: RestClient, fields: { role?: string; name?: string } = {}): Promise<Member> {
  const { role, name = 'Member' } = fields
  const email = `${name}.${++members}@example.com`.toLowerCase()
  const { user_id: userId } = await product.ok('POST', '/invitations', {
    email,
    ...(role === undefined ? {} : { role }),
  })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active', name })
  const { token, ws_url: wsUrl } = await product.ok('POST', '/client_tokens', { agent_user_id: userId })
  return { userId, token, wsUrl }
}

/** Opens and starts a page of the product with a member's token, without a call. */
export async function startPage(
  chromium: Chromium,
  product: Product,
  { path, token }: { path: string; token: string },
): Promise<{ page: Page; faults: string[] }> {
  const opened = await chromium.open(`${product.baseUrl}${path}#client_token=${token}`)
  await opened.page.click('#start')
  await opened.page.waitForSelector('#idle:not([hidden])')
  return opened
}

/** Opens a page for a new member. */
export async function openAs(
  chromium: Chromium,
  product: Product,
  { path, ...who }: { path: string; role: string; name: string },
): Promise<{ page: Page; userId: string }> {
  const { userId, token } = await newMember(product, who)
  const { page } = await startPage(chromium, product, { path, token })
  return { page, userId }
}
