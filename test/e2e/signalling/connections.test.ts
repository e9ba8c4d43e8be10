import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const test = sharedSuite('e2e/signalling/connections')
const SLOW = { timeoutMs: 60_000 }

const statusBecomes = (id: string, status: string) =>
  product.until(`the connection is ${status}`, async () => {
    const connection = await product.ok('GET', `/connections/${id}`)
    return connection.status === status ? connection : null
  })

const eventTypes = async (id: string): Promise<string[]> =>
  (await product.events()).filter(event => event.data.object.id === id).map(event => event.type)

/** Creates an account at the product's own registrar, at which the connection registers over real sockets. */
async function newAccount() {
  const { user_id: userId } = await product.ok('POST', '/invitations', { email: 'trunk@example.com' })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
  const { username, password } = await product.ok('POST', `/users/${userId}/sip_credential`)
  const contacts = async (): Promise<string[]> =>
    (await product.ok('GET', `/users/${userId}/sip_credential`)).registrations.map(
      (one: { contact: string }) => one.contact,
    )
  return { userId, username, password, contacts }
}

test(
  'a registration registers by digest, its registrar reaches us by the contact, and it unregisters when it is deleted',
  async () => {
    const { userId, username, password, contacts } = await newAccount()
    const made = await product.ok('POST', '/connections', {
      name: 'Carrier',
      kind: 'registration',
      host: product.sip.host,
      port: product.sip.port,
      auth: { username, password: 'guessed' },
    })
    assert.is((await statusBecomes(made.id, 'unreachable')).sip_code, 403)
    await product.ok('PATCH', `/connections/${made.id}`, { auth: { username, password } })
    await statusBecomes(made.id, 'registered')
    assert.is((await contacts()).length, 1)
    assert.equal((await eventTypes(made.id)).sort(), ['connection.registered', 'connection.unreachable'])

    const route = await product.ok('POST', '/inbound_routes', {
      match: { connection_id: made.id },
      target: { type: 'echo' },
    })
    const caller = await Phone.open('caller')
    await product.ok('POST', '/calls', { to: caller.uri, user_id: userId })
    const call = await caller.next()
    call.answer()
    const inbound = await product.until('the call comes in over the connection', async () => {
      const { data } = await product.ok('GET', '/calls?limit=20')
      return data.find((one: { connection_id: string | null }) => one.connection_id === made.id) ?? null
    })
    assert.equal([inbound.direction, inbound.connection_id], ['inbound', made.id])
    await call.hangup()
    await caller.close()
    await product.ok('DELETE', `/inbound_routes/${route.id}`)

    await product.ok('DELETE', `/connections/${made.id}`)
    await product.until('it is unregistered', async () => ((await contacts()).length === 0 ? true : null))
  },
  SLOW,
)

test(
  'a trunk that answers OPTIONS is reachable',
  async () => {
    const phone = await Phone.open('trunk')
    const port = Number(/:(\d+)$/.exec(phone.uri)![1])
    const trunk = { name: 'Trunk', kind: 'trunk', host: '127.0.0.1' }
    const { id } = await product.ok('POST', '/connections', { ...trunk, port })
    await statusBecomes(id, 'reachable')
    await phone.close()
  },
  SLOW,
)

test.run()
