import type { Page } from 'playwright-core'
import type { Product } from '../../../bench/product.ts'
import { DesktopLine } from '../../fakes/desktop-line.ts'
import type { Chromium } from './chromium.ts'

// The agent's desktop in the middle of a call, with something in every part of it.

interface Words {
  stage: string
  goal: string
  items: [string, string]
  field: string
  said: [string, string]
  objection: string
  response: string
  alert: string
  phrase: string
  disclosure: string
  step: string
  link: string
}

const ENGLISH: Words = {
  stage: 'Opening',
  goal: 'Know who calls and why, and what they expect of us today',
  items: ['Account number', 'Reason of the call'],
  field: 'Name of the account owner',
  said: ['Thank you for calling, how can I help you today?', 'It is too expensive and I want to cancel my contract.'],
  objection: 'Too expensive',
  response: 'It pays for itself within a year, as you need no other device any more.',
  alert: 'Wants to cancel',
  phrase: 'we guarantee',
  disclosure: 'This call is recorded',
  step: 'Ask for the account number, and read it back.',
  link: 'Price list of this year',
}

const HEBREW: Words = {
  stage: 'פתיחה',
  goal: 'לדעת מי מתקשר ולמה, ומה הוא מצפה מאיתנו היום',
  items: ['מספר חשבון', 'סיבת השיחה'],
  field: 'שם בעל החשבון',
  said: ['תודה שהתקשרת, במה אפשר לעזור?', 'זה יקר מדי ואני רוצה לבטל את החוזה.'],
  objection: 'יקר מדי',
  response: 'זה מחזיר את עצמו בתוך שנה, כי אין צורך במכשיר נוסף.',
  alert: 'רוצה לבטל',
  phrase: 'אנחנו מבטיחים',
  disclosure: 'השיחה מוקלטת',
  step: 'לבקש את מספר החשבון ולחזור עליו.',
  link: 'מחירון השנה',
}

export const WORDS = { en: ENGLISH, he: HEBREW }
export type Language = keyof typeof WORDS

const sessionOf = (language: Language): string => `cops_${language}`

export function sessionOfScene(id: string, { stage, goal, items, field, disclosure, link }: Words): object {
  const checklist = items.map((label, i) => ({
    ...{ key: `item${i}`, label, ask: label, required: i === 0, done: i > 0, by: i > 0 ? 'heard' : null },
  }))
  return {
    ...{ id, object: 'copilot_session', hearing: 'running', hearing_reason: null, mood: 'neutral' },
    ...{ stage: 'open', stages: [{ key: 'open', label: stage, goal, checklist }], script: { flow_id: 'flow_1' } },
    fields: [
      { key: 'name', label: field, type: 'name', required: true, options: [], value: null, by: null },
      { key: 'phone', label: 'Phone', type: 'phone', required: false, options: [], value: '+15551234567', by: 'heard' },
      {
        key: 'plan',
        label: 'Plan',
        type: 'choice',
        required: false,
        options: ['basic', 'premium'],
        value: null,
        by: null,
      },
    ],
    disclosures: [{ key: 'recorded', label: disclosure, text: disclosure, status: 'open' }],
    links: [{ label: link, url: 'https://example.com/prices' }],
  }
}

/** One message of each kind. */
function messages(words: Words): { type: string; data: object; utterance_ids?: string[] }[] {
  const [agent, customer] = words.said
  const told = (utterance_id: string, party: string, text: string, final: boolean) => ({
    type: 'transcript',
    data: { utterance_id, party, text, final },
  })
  return [
    told('u1', 'agent', agent, true),
    told('u2', 'customer', customer, true),
    told('u3', 'customer', customer, false),
    { type: 'script', data: { node_key: 'ask', label: words.step, text: words.step, choices: [] } },
    { type: 'objection', data: { label: words.objection, response: words.response, follow_up: words.goal } },
    { type: 'card', data: { text: words.response } },
    { type: 'nudge', data: { kind: 'monologue' } },
    { type: 'sentiment', data: { mood: 'negative' } },
    { type: 'compliance', data: { kind: 'required_disclosure', key: 'recorded', status: 'missed' } },
    {
      type: 'compliance',
      data: { kind: 'forbidden_phrase', phrase: words.phrase, instead: words.response, reason: words.goal },
    },
    { type: 'alert', data: { key: 'cancel', label: words.alert, message: words.response, severity: 'critical' } },
    { type: 'alert', data: { key: 'quiet', label: words.alert, message: '', severity: 'warning' } },
  ]
}

let serial = 0
export function tell(line: DesktopLine, language: Language, type: string, data: object, more: object = {}): string {
  const id = `copm_${++serial}`
  const message = {
    id,
    session_id: sessionOf(language),
    type,
    utterance_ids: [],
    replaces: null,
    withdraws: null,
    data,
    ...more,
  }
  line.control({ type: 'copilot_message', message })
  return id
}

export interface Desk {
  page: Page
  line: DesktopLine
}

/** Opens a page whose WebSocket the test serves, connected and without a call. */
export async function openDesk(chromium: Chromium, product: Product, path: string): Promise<Desk> {
  let line: DesktopLine | undefined
  const { page } = await chromium.open(`${product.baseUrl}${path}#client_token=t`, async fresh => {
    line = await DesktopLine.on(fresh)
  })
  await page.click('#start')
  await page.waitForSelector('#idle:not([hidden])')
  return { page, line: line! }
}

export async function ring({ page, line }: Desk): Promise<void> {
  line.ring({ caller: '+15551234567', queue: 'Sales' })
  await page.waitForSelector('#ringing:not([hidden])')
}

/** Begins a call with something in every part of the desktop. */
export async function beginCall(desk: Desk, language: Language = 'en'): Promise<Page> {
  const { page, line } = desk
  await ring(desk)
  line.start()
  await page.waitForSelector('#call:not([hidden])')
  // A copilot that the agent has closed is not opened again by the session that it showed last.
  openCopilot(line, language)
  await page.waitForSelector('#copilot:not([hidden]) #alerts .hint.warning')
  return page
}

function openCopilot(line: DesktopLine, language: Language): void {
  line.control({ type: 'copilot_session', session: sessionOfScene(sessionOf(language), WORDS[language]) })
  for (const { type, data } of messages(WORDS[language])) tell(line, language, type, data)
}

/** Shows a contact to preview before it is called; null: none, and no campaign. */
export function showPreview(line: DesktopLine, name: string | null): void {
  const contact = {
    ...{
      id: 'cct_1',
      campaign_id: 'cmp_1',
      phone: '+15551234567',
      name,
      status: 'pending',
      attempts: 1,
      call_id: null,
    },
    ...{ last_result: 'no_answer', metadata: { contract: 'until May' }, seconds_left: 95 },
  }
  const campaigns = name === null ? [] : [1, 2].map(n => ({ id: `cmp_${n}`, name: `Renewals ${n}` }))
  line.control({ type: 'preview', campaigns, contact: name === null ? null : contact, refused: null })
}

export function showFloor(line: DesktopLine, { label, message = '' }: { label: string; message?: string }): void {
  const now = Date.now()
  const at = new Date(now - 95_000).toISOString()
  const agent = (n: number, status: string) => ({
    ...{ user_id: `user_${n}`, name: `Agent ${n} with a rather long name`, status, ringing: false, since: at },
  })
  line.control({
    type: 'floor',
    at: new Date(now).toISOString(),
    agents: [agent(1, 'busy'), agent(2, 'available'), agent(3, 'away')],
    queues: [1, 2].map(n => ({
      ...{ name: `Queue ${n}`, waiting: n, longest_wait_since: at, answered: 12, abandoned: 1, service_level_pct: 87 },
    })),
    calls: [1, 2].map(n => ({
      ...{ call_id: `call_${n}`, user_id: `user_${n}`, party: '+15551234567', started: at },
      alerts: n === 1 ? [{ label, message, severity: 'critical' }] : [],
    })),
  })
}
