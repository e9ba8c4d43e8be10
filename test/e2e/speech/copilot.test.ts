// Judges timing: it compares audio sample by sample, and when it arrives.
import * as assert from 'uvu/assert'
import { copilotInSandbox } from '../../../bench/copilot/fed-text.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { samplesOf } from '../../../bench/voices.ts'
import { Flite } from '../../../media/speech/flite.ts'
import { callFrom, invited, keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { killAndWait } from '../witness.ts'

/** Allows the offline recogniser to load on a busy machine. */
const LOADING = { timeoutMs: 120_000 }
const HEARD_MS = 60_000

const test = sharedSuite('e2e/speech/copilot')

const PROFILE = {
  name: 'Sales',
  stages: [
    {
      key: 'open',
      label: 'Opening',
      checklist: [{ key: 'offer', label: 'Offer help', phrases: ['how can I help you'], required: true }],
    },
    { key: 'need', label: 'Need' },
  ],
  fields: [{ key: 'name', label: 'Name', type: 'name' }],
  alerts: [
    {
      key: 'cancel',
      kind: 'phrase',
      label: 'Cancels',
      phrases: ['cancel my contract'],
      notify_supervisor: true,
      severity: 'critical',
    },
  ],
  compliance: { required_disclosures: [], forbidden_phrases: [] },
}

/** Who says what: few words, which the offline recogniser understands well. */
const LINES: { party: 'agent' | 'customer'; text: string }[] = [
  { party: 'agent', text: 'Good morning. How can I help you today?' },
  { party: 'customer', text: 'My name is John Smith.' },
  { party: 'customer', text: 'I want to cancel my contract today.' },
]

let flite: Flite
test.before(async () => {
  flite = keep(new Flite(1))
})

interface Told {
  id: string
  type: string
  data: Record<string, unknown>
  latency_ms: number | null
  utterance_ids: string[]
  replaces: string | null
  withdraws: string | null
}

/** Receives the messages of a stream; after an interruption it continues after the last one. */
class Desktop {
  readonly told: Told[] = []
  readonly #url: string
  readonly #key: string
  #isOpen = true

  constructor(sessionId: string, key: string) {
    this.#url = `${product.baseUrl}/v1/copilot_sessions/${sessionId}/stream`
    this.#key = key
    void this.#follow()
  }

  async #follow(): Promise<void> {
    while (this.#isOpen) {
      await this.#read().catch(() => {})
      await new Promise(later => setTimeout(later, 50))
    }
  }

  async #read(): Promise<void> {
    const last = this.told.at(-1)?.id
    const headers = { authorization: `Bearer ${this.#key}`, accept: 'text/event-stream' }
    const response = await fetch(this.#url, {
      headers: last === undefined ? headers : { ...headers, 'last-event-id': last },
    })
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1]
        if (data !== undefined) this.told.push(JSON.parse(data) as Told)
      }
    }
  }

  has(type: string, key: string): Told | undefined {
    const gone = new Set(this.told.flatMap(({ replaces, withdraws }) => [replaces, withdraws]))
    return this.told.find(one => one.type === type && one.data.key === key && !gone.has(one.id))
  }

  /** Whether all of these utterances were said to their end. */
  isFinal(utterances: readonly string[]): boolean {
    const said = this.told.filter(({ type, data }) => type === 'transcript' && data.final === true)
    const final = new Set(said.flatMap(({ utterance_ids }) => utterance_ids))
    return utterances.every(id => final.has(id))
  }

  close(): void {
    this.#isOpen = false
  }
}

async function spoken(text: string): Promise<Int16Array> {
  const made = await flite.speak(text, null, null)
  if ('error' in made) throw new Error(made.error)
  return made.samples
}

/** Connects a customer with an agent of a queue that has the profile. */
async function conversation(
  name: string,
  number: string,
): Promise<{ customer: PhoneCall; agent: PhoneCall; callId: string }> {
  const { id: profileId } = await product.ok('POST', '/copilot_profiles', { ...PROFILE, name })
  const { userId, account } = await invited(product, `${name}@example.com`)
  const desk = await Phone.open(`${name}-agent`)
  await desk.register(account, product.sip)
  await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
  const queue = { name, member_user_ids: [userId], copilot_profile_id: profileId }
  const { id } = await product.ok('POST', '/queues', queue)
  await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'queue', id } })
  const ringing = desk.next()
  const phone = await Phone.open(name)
  const customer = await phone.call(number, product.sip)
  const agent = await ringing
  agent.answer()
  return { customer, agent, callId: (await callFrom(product, name)).id }
}

const sessionOf = (callId: string) =>
  product.until(
    'the copilot begins',
    async () => (await product.ok('GET', `/copilot_sessions?call_id=${callId}`)).data[0],
  )

/** What the copilot knows at the end: items, fields and alerts. */
const knowledgeOf = (session: { stages: never[]; fields: never[] }) => ({
  done: (session.stages as { checklist: { key: string; done: boolean }[] }[]).flatMap(({ checklist }) =>
    checklist.filter(({ done }) => done).map(({ key }) => key),
  ),
  fields: (session.fields as { key: string; value: string | null }[]).map(({ key, value }) => [key, value]),
})

/** Feeds the same lines as text, with the test key, for a call of the sandbox. */
async function fedAsText() {
  const { rest, id } = await copilotInSandbox(product, PROFILE)
  const session = await rest.ok('POST', `/test_helpers/copilot/${id}/utterances`, { utterances: LINES })
  const { data } = await rest.ok('GET', `/copilot_sessions/${id}/messages?limit=100`)
  return { ...knowledgeOf(session), alerts: alertsOf(data.toReversed()) }
}

const alertsOf = (messages: readonly Told[]): unknown[] =>
  messages.filter(({ type, withdraws }) => type === 'alert' && withdraws === null).map(({ data }) => data.key)

test(
  'the same call as text and as audio gives the same checklist, fields and alerts, and supervisors are told',
  async () => {
    const { customer, agent, callId } = await conversation('audio', '4801')
    const { id, hearing } = await sessionOf(callId)
    assert.is(hearing, 'running')
    const desktop = keep(new Desktop(id, product.liveKey))
    const expected: [string, string][] = [
      ['checklist', 'offer'],
      ['field', 'name'],
      ['alert', 'cancel'],
    ]
    for (const [at, { party, text }] of LINES.entries()) {
      const voice = party === 'agent' ? agent : customer
      voice.say(samplesOf(await spoken(text)))
      const [type = '', key = ''] = expected[at] ?? []
      const message = await product.until(`${key} is told`, async () => desktop.has(type, key), HEARD_MS)
      assert.type(message.latency_ms, 'number')
      // A line that follows at once would belong to the same utterance, and supervisors get only words that can no longer change.
      await product.until('its words are final', async () => desktop.isFinal(message.utterance_ids) || null, HEARD_MS)
    }
    const heard = knowledgeOf(await product.ok('GET', `/copilot_sessions/${id}`))
    assert.equal({ ...heard, alerts: alertsOf(desktop.told) }, await fedAsText())
    const events = await product.all(`/calls/${callId}/events`)
    const alert = events.find(({ type }) => type === 'copilot.alert')
    assert.equal([alert?.data.object.key, alert?.data.object.session_id], ['cancel', id])
    await agent.hangup()
    await product.until('the session ends', async () =>
      (await product.ok('GET', `/copilot_sessions/${id}`)).status === 'ended' ? true : null,
    )
    await product.until('its summary is told', async () => desktop.told.find(({ type }) => type === 'summary'))
    desktop.close()
  },
  LOADING,
)

test(
  'kill -9 of control in the middle: the desktop goes on with no message lost or doubled',
  async () => {
    const { customer, agent, callId } = await conversation('killed', '4802')
    const { id } = await sessionOf(callId)
    const desktop = keep(new Desktop(id, product.liveKey))
    customer.say(samplesOf(await spoken(LINES[1]!.text)))
    await product.until('the name is told', async () => desktop.has('field', 'name'), HEARD_MS)
    await killAndWait(product, 'control')
    agent.say(samplesOf(await spoken(LINES[0]!.text)))
    await product.ready()
    await product.until('the item is told', async () => desktop.has('checklist', 'offer'), HEARD_MS)
    await agent.hangup()
    await product.until(
      'the summary is told',
      async () => desktop.told.find(({ type }) => type === 'summary'),
      HEARD_MS,
    )
    // The words of the last line may become final after the summary.
    const all = await product.until('every message has come', async () => {
      const stored = (await product.all(`/copilot_sessions/${id}/messages`)).map(one => one.id).sort()
      return desktop.told.length < stored.length ? null : stored
    })
    desktop.close()
    const ids = desktop.told.map(one => one.id)
    assert.equal(ids, all)
    assert.is(new Set(ids).size, ids.length)
  },
  LOADING,
)

test(
  'in a card-payment pause nothing is heard, typed or told',
  async () => {
    const { customer, agent, callId } = await conversation('paying', '4803')
    const { id } = await sessionOf(callId)
    const desktop = keep(new Desktop(id, product.liveKey))
    await product.ok('PATCH', '/organisation', { pci: { enabled: true } })
    await product.ok('POST', `/calls/${callId}/pci`, { action: 'pause', max_seconds: 120 })
    customer.say(samplesOf(await spoken('My name is John Smith.')))
    // The line is over when the other end has heard three more seconds.
    await agent.heard.next(3000)
    const refused = await fetch(`${product.baseUrl}/v1/copilot_sessions/${id}/fields/name`, {
      method: 'POST',
      headers: { authorization: `Bearer ${product.liveKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ value: 'John' }),
    })
    assert.is(refused.status, 409)
    await product.ok('POST', `/calls/${callId}/pci`, { action: 'resume' })
    agent.say(samplesOf(await spoken(LINES[0]!.text)))
    await product.until('what is said after it is told', async () => desktop.has('checklist', 'offer'), HEARD_MS)
    assert.is(desktop.has('field', 'name'), undefined)
    const texts = desktop.told.filter(({ type }) => type === 'transcript').map(({ data }) => String(data.text))
    assert.not.match(texts.join(' '), /john|smith/i)
    await agent.hangup()
    desktop.close()
  },
  LOADING,
)

test.run()
