import { Phone } from '../phone/phone.ts'
import type { PhoneCall } from '../phone/phone-call.ts'
import type { Product } from '../product.ts'
import { withoutModel } from './known-words.ts'
import type { Message } from './score.ts'

/** A call of an agent and a customer with a copilot, whose messages are received from its event stream. */
export interface Desk {
  voices: { agent: PhoneCall; customer: PhoneCall }
  /** The messages in order, with the time at which they arrived by this process's clock [ms]. */
  told: (Message & { cameAt: number })[]
  close(): Promise<void>
}

let desks = 0

export async function openDesk(product: Product, profile: object): Promise<Desk> {
  const nth = ++desks
  const name = `desk${nth}`
  const { id: copilot_profile_id } = await product.ok('POST', '/copilot_profiles', withoutModel(profile))
  const { user_id: userId } = await product.ok('POST', '/invitations', { email: `${name}@example.com` })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
  const phone = await Phone.open(name)
  await phone.register(await product.ok('POST', `/users/${userId}/sip_credential`), product.sip)
  await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
  const { id } = await product.ok('POST', '/queues', { name, member_user_ids: [userId], copilot_profile_id })
  const number = String(7000 + nth)
  await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'queue', id } })
  const ringing = phone.next()
  const customer = await (await Phone.open(`customer${nth}`)).call(number, product.sip)
  const agent = await ringing
  agent.answer()
  const { id: sessionId } = await product.until('the copilot begins', async () =>
    (await product.ok('GET', `/copilot_sessions?user_id=${userId}`)).data.at(0),
  )
  const told: Desk['told'] = []
  const ended = new AbortController()
  const reading = follow(product, sessionId, told, ended.signal)
  return {
    voices: { agent, customer },
    told,
    close: async () => {
      await agent.hangup()
      ended.abort()
      await reading
    },
  }
}

/** Reads the stream until `signal` aborts it. */
async function follow(product: Product, sessionId: string, told: Desk['told'], signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${product.liveKey}`, accept: 'text/event-stream' }
  const response = await fetch(`${product.baseUrl}/v1/copilot_sessions/${sessionId}/stream`, { headers, signal })
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const bytes of response.body!) {
      const cameAt = performance.now()
      text += decoder.decode(bytes, { stream: true })
      const events = text.split('\n\n')
      text = events.pop()!
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1]
        if (data !== undefined) told.push({ ...JSON.parse(data), cameAt })
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
