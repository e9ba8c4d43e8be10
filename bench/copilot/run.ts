import { setTimeout as sleep } from 'node:timers/promises'
import { Flite } from '../../media/speech/flite.ts'
import { thisCommit, thisMachine } from '../machine.ts'
import { Phone } from '../phone.ts'
import type { PhoneCall } from '../phone-call.ts'
import { Product } from '../product.ts'
import { samplesOf } from '../voices.ts'
import { LINES, PROFILE } from './profile.ts'

export interface CopilotReport {
  startedAt: string
  commit: ReturnType<typeof thisCommit>
  machine: ReturnType<typeof thisMachine>
  /** From the request with the words to its answer, when all of it is stored [ms]. */
  knownMs: number[]
  /** By calls at once: from the end of the words to the first message that they led to, and lines that led to none. */
  heard: { calls: number; latenciesMs: number[]; missed: number }[]
}

interface Talk {
  sessionId: string
  voices: { agent: PhoneCall; customer: PhoneCall }
}

const ROUNDS = 60
const CALLS = [1, 4]
/** A line that has led to nothing by then was not heard. */
const LIMIT_MS = 15_000

/** How soon the copilot tells: with the words known, and by the offline ear with some calls at once. */
export async function benchCopilot(say: (line: string) => void): Promise<CopilotReport> {
  const startedAt = new Date().toISOString()
  const product = await Product.start({ env: { TANDEM_SPEECH_PRELOAD: 'yes' } })
  const flite = new Flite(1)
  try {
    const { id: profileId } = await product.ok('POST', '/copilot_profiles', PROFILE)
    const lines = await Promise.all(
      LINES.map(async ({ party, text }) => {
        const made = await flite.speak(text, null, null)
        if ('error' in made) throw new Error(made.error)
        return { party, samples: made.samples }
      }),
    )
    say('the words are known …')
    const knownMs = await fedText(product)
    const heard = []
    for (const calls of CALLS) {
      say(`${calls} calls are heard …`)
      const talks: Talk[] = []
      for (let n = 0; n < calls; n++) talks.push(await talk(product, `${calls}x${n}`, profileId))
      const each = await Promise.all(talks.map(one => spoken(product, one, lines)))
      heard.push({
        calls,
        latenciesMs: each.flatMap(({ latenciesMs }) => latenciesMs),
        missed: each.reduce((sum, { missed }) => sum + missed, 0),
      })
      for (const { voices } of talks) await voices.agent.hangup()
    }
    return { startedAt, commit: thisCommit(), machine: thisMachine(), knownMs, heard }
  } finally {
    await flite.close()
    await Phone.closeAll()
    await product.stop()
  }
}

/** By the test helper, over HTTP: everything but the ear. */
async function fedText(product: Product): Promise<number[]> {
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${product.testKey}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`${product.baseUrl}/v1${path}`, { method, headers, ...sent })
    // biome-ignore lint/suspicious/noExplicitAny: of the product's own API
    const answer = (await response.json()) as any
    if (!response.ok) throw new Error(JSON.stringify(answer))
    return answer
  }
  const { id: callId } = await ask('POST', '/calls', { to: '+15005550006' })
  await product.until('the sandbox answers', async () =>
    (await ask('GET', `/calls/${callId}`)).status === 'in_progress' ? true : null,
  )
  const { id: profile_id } = await ask('POST', '/copilot_profiles', PROFILE)
  const { id } = await ask('POST', `/calls/${callId}/copilot`, { profile_id })
  const tookMs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    for (const line of LINES) {
      const from = performance.now()
      await ask('POST', `/test_helpers/copilot/${id}/utterances`, { utterances: [line] })
      tookMs.push(performance.now() - from)
      // As fast as people speak at most, and no faster than a key may ask.
      await sleep(30)
    }
  }
  return tookMs
}

/** A customer and an agent who talk, with a copilot beside them. */
async function talk(product: Product, name: string, profileId: string): Promise<Talk> {
  const { user_id: userId } = await product.ok('POST', '/invitations', { email: `a${name}@example.com` })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
  const account = await product.ok('POST', `/users/${userId}/sip_credential`)
  const desk = await Phone.open(`agent${name}`)
  await desk.register(account, product.sip)
  await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
  const queue = { name, member_user_ids: [userId], copilot_profile_id: profileId }
  const { id } = await product.ok('POST', '/queues', queue)
  const number = `77${name.replace('x', '0')}`
  await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'queue', id } })
  const ringing = desk.next()
  const customer = await (await Phone.open(`caller${name}`)).call(number, product.sip)
  const agent = await ringing
  agent.answer()
  const { id: sessionId } = await product.until('the copilot begins', async () =>
    (await product.ok('GET', `/copilot_sessions?user_id=${userId}`)).data.at(0),
  )
  return { sessionId, voices: { agent, customer } }
}

async function spoken(
  product: Product,
  { sessionId, voices }: Talk,
  lines: readonly { party: 'agent' | 'customer'; samples: Int16Array }[],
): Promise<{ latenciesMs: number[]; missed: number }> {
  const latenciesMs: number[] = []
  let missed = 0
  for (const { party, samples } of lines) {
    const last = (await product.ok('GET', `/copilot_sessions/${sessionId}`)).last_message_id
    voices[party].say(samplesOf(samples))
    const told = await product
      .until('something is told', () => firstAfter(product, sessionId, last), LIMIT_MS)
      .catch(() => null)
    if (told === null) missed++
    else latenciesMs.push(told)
    // The final transcript belongs to the same line.
    await sleep(1500)
  }
  return { latenciesMs, missed }
}

/** How late the first message behind this one was that words led to, beside the words themselves [ms]. */
async function firstAfter(product: Product, sessionId: string, last: string): Promise<number | null> {
  const { data } = await product.ok('GET', `/copilot_sessions/${sessionId}/messages?limit=50`)
  const after = data.filter((one: { id: string }) => one.id > last).reverse()
  const told = after.find(
    ({ type, latency_ms }: { type: string; latency_ms: number | null }) => type !== 'transcript' && latency_ms !== null,
  )
  return told?.latency_ms ?? null
}
