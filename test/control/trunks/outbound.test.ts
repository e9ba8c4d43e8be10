import * as assert from 'uvu/assert'
import { wayTo } from '../../../control/calls/dial.ts'
import { hostsOf } from '../../../control/trunks/outbound.ts'
import type { ConnectionRow } from '../../../control/trunks/tables.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp, refusal, VAULT, type WholeApp } from '../whole-app.ts'

const test = suite('control/trunks/outbound')
const LONDON = '+442071838750'
const NEW_YORK = '+12125550142'

let app: WholeApp
test.beforeEach(async () => {
  app = await makeWholeApp()
})
test.afterEach(() => app.close())

async function make(name: string, more: object = {}): Promise<string> {
  const body = { name, kind: 'trunk', host: `${name}.example.com`, ...more }
  const { status, body: made } = await app.live('POST /v1/connections', body)
  assert.is(status, 201, JSON.stringify(made))
  return made.id
}

async function way(to: string, from?: string, shown?: string) {
  const tenant = { organisationId: app.ours.organisationId, livemode: true }
  const deps = { sipHost: '192.0.2.1', vault: VAULT }
  const found = await wayTo(app.store.db, tenant, { to, from, shown }, deps)
  if ('problem' in found) throw new Error(found.message)
  return found
}

const order = async (to: string, from?: string): Promise<(string | undefined)[]> => {
  const { target, alternatives } = await way(to, from)
  return [target, ...alternatives].map(({ uri }) => /@(\w+)\./.exec(uri)?.[1])
}

test('of connections with rates the one of least cost for the longest prefix goes first, the others follow', async () => {
  await make('dear', { rates: [{ prefix: '+', cost: 5 }] })
  await make('british', {
    rates: [
      { prefix: '+4', cost: 9 },
      { prefix: '+44', cost: 1 },
      { prefix: '+4420', cost: 3 },
    ],
  })
  await make('cheap', { rates: [{ prefix: '+442', cost: 2 }] })
  await make('unrated')
  assert.equal(await order(LONDON), ['cheap', 'british', 'dear'])
  assert.equal(await order(NEW_YORK), ['dear'])
})

test('a number that nobody has a rate for goes out over what has none at all', async () => {
  await make('british', { rates: [{ prefix: '+44', cost: 1 }] })
  assert.is((await app.live('POST /v1/calls', { to: NEW_YORK, target: { type: 'echo' } })).status, 400)
  await make('any')
  await make('other')
  assert.equal(await order(NEW_YORK), ['any'])
})

test('the connection of the number that calls goes first, whatever it costs', async () => {
  const own = await make('own')
  await make('cheap', { rates: [{ prefix: '+44', cost: 1 }] })
  await app.live('POST /v1/phone_numbers', { number: NEW_YORK, connection_id: own })
  assert.equal(await order(LONDON, NEW_YORK), ['own', 'cheap'])
})

test('a payment line is called over the connection of its own number, whoever calls it', async () => {
  const [own, secure] = [await make('own'), await make('secure')]
  await app.live('POST /v1/phone_numbers', { number: NEW_YORK, connection_id: own })
  const { body } = await app.live('POST /v1/phone_numbers', { number: LONDON, connection_id: secure })
  assert.equal(await order(LONDON, NEW_YORK), ['own'])
  await app.live(`PATCH /v1/phone_numbers/${body.id}`, { payment_line: true })
  assert.equal([await order(LONDON, NEW_YORK), await order(LONDON)], [['secure'], ['secure']])
  await app.live(`PATCH /v1/phone_numbers/${body.id}`, { connection_id: null })
  assert.equal(await order(LONDON, NEW_YORK), ['own'])
})

test('what does not answer, or is full, comes after what does', async () => {
  const silent = await make('silent', { rates: [{ prefix: '+', cost: 1 }] })
  const full = await make('full', { rates: [{ prefix: '+', cost: 2 }], max_calls: 1 })
  await make('free', { rates: [{ prefix: '+', cost: 3 }] })
  await app.store.db.updateTable('connections').set({ status: 'unreachable' }).where('id', '=', silent).execute()
  assert.equal(await order(LONDON), ['full', 'free', 'silent'])
  // Media is not here: the call is refused, and counted as running all the same.
  await app.live('POST /v1/calls', { to: LONDON })
  const legs = await app.store.db
    .updateTable('participants')
    .set({ step: 'answering' } as never)
    .returning('connection_id')
    .execute()
  assert.equal(legs, [{ connection_id: full }])
  assert.equal(await order(LONDON), ['free', 'silent'])
})

test('a number is written as the far end wants it, the called one behind its prefix, the calling one alike', async () => {
  const written = async (more: object) => {
    const id = await make('carrier', more)
    const { target } = await way(LONDON, NEW_YORK)
    await app.live(`DELETE /v1/connections/${id}`)
    return [target.uri, target.from.uri].map(uri => uri.replace('@carrier.example.com', ''))
  }
  assert.equal(await written({}), [`sip:${LONDON}`, `sip:${NEW_YORK}`])
  assert.equal(await written({ number_format: 'digits', dial_prefix: '99#' }), [
    'sip:99#442071838750',
    'sip:12125550142',
  ])
  const british = { number_format: 'national', number_country: 'GB' }
  assert.equal(await written(british), ['sip:02071838750', 'sip:0012125550142'])
})

test('a call that names no caller is from the number of its connection', async () => {
  await make('carrier', { caller_number: NEW_YORK })
  assert.equal([(await way(LONDON)).from, (await way(LONDON, LONDON)).from], [NEW_YORK, LONDON])
})

test('a call for a transfer is from whoever called, and over a connection that takes only its own numbers from the number that was called', async () => {
  const from = async (more: object) => {
    const id = await make('carrier', more)
    const { target } = await way(LONDON, NEW_YORK, '+493012345678')
    await app.live(`DELETE /v1/connections/${id}`)
    return target.from.uri
  }
  assert.is(await from({}), 'sip:+493012345678@carrier.example.com')
  assert.is(await from({ transfer_caller: 'own' }), `sip:${NEW_YORK}@carrier.example.com`)
})

test('an IPv6 host stands in brackets in URIs, and without them where it is dialled', async () => {
  await make('six', { host: '2001:db8::50', port: 5070 })
  const { target } = await way(LONDON)
  assert.is(target.uri, `sip:${LONDON}@[2001:db8::50]:5070`)
  assert.is(target.from.uri, 'sip:tandem@[2001:db8::50]')
  assert.equal(target.hosts, [{ host: '2001:db8::50', port: 5070, transport: 'udp' }])
})

test('a name without a port is found by DNS, an address is not, and a port that was given stays', async () => {
  const read = async (body: object) => (await app.live(`GET /v1/connections/${await make('x', body)}`)).body
  assert.is((await read({})).port, null)
  assert.is((await read({ host: '192.0.2.50' })).port, 5060)
  assert.is((await read({ host: '192.0.2.51', transport: 'tls' })).port, 5061)
  assert.is((await read({ port: 5080 })).port, 5080)
  assert.is((await read({ transport: null })).transport, null)
})

test('the default port of an address follows its transport, there and back; one that was given stays', async () => {
  const id = await make('x', { host: '192.0.2.50' })
  const change = async (body: object) => (await app.live(`PATCH /v1/connections/${id}`, body)).body.port
  const ports = [await change({ transport: 'tls' }), await change({ name: 'y' }), await change({ transport: 'udp' })]
  assert.equal(ports, [5061, 5061, 5060])
  assert.equal([await change({ port: 5080 }), await change({ transport: 'tls' })], [5080, 5080])
})

test('hosts are tried by priority, and at random by weight within one', () => {
  const host = (name: string, priority: number, weight: number) => ({ host: name, port: null, priority, weight })
  const row = {
    ...{ host: 'example.com', port: 5060, transport: 'udp' },
    hosts: JSON.stringify([host('last', 2, 1), host('light', 1, 10), host('heavy', 1, 90)]),
  } as ConnectionRow
  let state = 11
  const random = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
  const first: Record<string, number> = {}
  for (let n = 0; n < 1000; n++) {
    const hosts = hostsOf(row, random)
    assert.is(hosts[2]?.host, 'last')
    first[hosts[0]!.host] = (first[hosts[0]!.host] ?? 0) + 1
  }
  assert.ok(first.heavy! > 850 && first.heavy! < 950, JSON.stringify(first))
  assert.equal(hostsOf({ ...row, hosts: '[]' }), [{ host: 'example.com', port: 5060, transport: 'udp' }])
})

test('what cannot be meant is refused with the name of the field', async () => {
  const refused = async (more: object) => {
    const answer = await app.live('POST /v1/connections', { name: 'x', kind: 'trunk', host: 'example.com', ...more })
    return refusal(answer)
  }
  assert.match(JSON.stringify(await refused({ hosts: [{ host: '10.0.0.5' }] })), /hosts\[0\]\.host/)
  assert.match(JSON.stringify(await refused({ hosts: [{ host: 'a' }, { host: '-' }] })), /hosts\[1\]\.host/)
  assert.match(JSON.stringify(await refused({ number_format: 'national' })), /number_country/)
  assert.match(JSON.stringify(await refused({ number_country: 'ZZ' })), /number_country/)
  assert.match(JSON.stringify(await refused({ rates: [{ prefix: '44', cost: 1 }] })), /rates\[0\]/)
  assert.match(JSON.stringify(await refused({ failover_on: [200] })), /failover_on/)
})

test.run()
