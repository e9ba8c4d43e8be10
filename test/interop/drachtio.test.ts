// Sleeps most: it waits most of the time, and judges only sounds that last.
import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import { Product } from '../../bench/product.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { callFrom, curtain, endedCall, HEARD_DBOV, invited } from '../e2e/scene.ts'
import { DrachtioFake } from '../fakes/drachtio-server.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Baresip } from './peers/baresip.ts'
import { Sipp, type SippOptions } from './peers/sipp.ts'
import { withoutOptions } from './peers/without-options.ts'

/**
 * The same calls through a drachtio server as over our own sockets: always with the fake, which behaves as the real one, and also with a real one if
 * `TANDEM_TEST_DRACHTIO_URL` (as `TANDEM_DRACHTIO_URL`) and `TANDEM_TEST_DRACHTIO_SIP` (`HOST:PORT`) name it.
 */
const test = suite('interop/drachtio')
const missing = missingPrograms('sipp', 'baresip')
const LIMIT = { timeoutMs: 60_000 }
const CREDENTIALS = { username: 'tandem', password: 'open-sesame' }
const TONE_HZ = 700

interface Edge {
  name: string
  url: string
  sip: { host: string; port: number }
  close(): void
}

async function fakeEdge(): Promise<Edge & { fake: DrachtioFake }> {
  const fake = await DrachtioFake.listen()
  return { name: 'the fake', url: fake.url, sip: fake.sip, fake, close: () => fake.close() }
}

function realEdge(): Edge | null {
  const { TANDEM_TEST_DRACHTIO_URL: url, TANDEM_TEST_DRACHTIO_SIP: sip } = process.env
  if (url === undefined || sip === undefined) return null
  const [host = '', port = '5060'] = sip.split(':')
  return { name: 'a real server', url, sip: { host, port: Number(port) }, close: () => {} }
}

function contract(name: string, open: () => Promise<Edge>): void {
  let edge: Edge
  let product: Product
  const drachtioTest = (sentence: string, run: () => unknown): void => {
    const told = `${sentence}, by way of ${name}`
    if (missing !== null) {
      test.skip(told, missing)
      return
    }
    test(
      told,
      async () => {
        edge ??= await open()
        product ??= await Product.start({ env: { TANDEM_DRACHTIO_URL: edge.url } })
        await run()
      },
      LIMIT,
    )
  }
  test.after(async () => {
    await curtain(product)
    edge?.close()
  })

  const scenario = async (name: string, options: SippOptions = {}): Promise<Sipp> => {
    const sipp = await Sipp.caller(name, edge.sip, options)
    await sipp.passed()
    return sipp
  }

  const running = () => product.until('a running call', async () => (await product.all('/calls?status=in_progress'))[0])

  /** Dials a SIPp that plays this scenario, and waits for its end. */
  async function outcome(name: string, fields: object = {}) {
    const sipp = await Sipp.callee(name)
    const { id } = await product.ok('POST', '/calls', { to: sipp.uri, ...fields })
    await sipp.passed()
    const { status, ended_reason, sip_code } = await endedCall(product, id)
    return { status, ended_reason, sip_code }
  }

  for (const name of [
    'call',
    'late-offer',
    'hold',
    'options',
    'unknown-dialog',
    'unsupported-codec',
    'same-invite-twice',
  ])
    drachtioTest(`the scenario ${name} goes as over sockets of our own`, () => scenario(name))

  drachtioTest('a number that nobody has is answered 404', () => scenario('not-found', { to: '4040404' }))

  drachtioTest('ten calls at once have a dialog each', () => scenario('call', { calls: 10, rate: 100 }))

  drachtioTest('who takes the call back while it is undecided hears 487 (RFC 3261 §9.2)', async () => {
    const { control } = product.pids
    process.kill(control, 'SIGSTOP')
    try {
      await scenario('cancel')
    } finally {
      process.kill(control, 'SIGCONT')
    }
  })

  drachtioTest('our BYE follows the route set to the remote target (RFC 3261 §12.2.1.1)', async () => {
    const sipp = await Sipp.caller('record-route', edge.sip, { to: '1002' })
    const call = await running()
    await product.until('the call is up', async () =>
      sipp.messages.some(({ text }) => /^ACK/.test(text)) ? true : null,
    )
    await product.ok('POST', `/calls/${call.id}/hangup`)
    await sipp.passed()
    assert.is((await endedCall(product, call.id)).ended_reason, 'api_hangup')
  })

  drachtioTest('a call that goes on has the Max-Forwards of its caller, less one (RFC 7332)', async () => {
    const sipp = await Sipp.callee('busy')
    const door = await withoutOptions(sipp)
    const number = '+493012345678'
    const way = { host: '127.0.0.1', port: door.port, rates: [{ prefix: number, cost: 0 }] }
    const { id } = await product.ok('POST', '/connections', { name: 'Carrier', kind: 'trunk', ...way })
    const overflow = { when_no_agents: true, action: 'number', number }
    const queue = await product.ok('POST', '/queues', { name: 'Sent on', overflow })
    const target = { type: 'queue', id: queue.id }
    await product.ok('POST', '/inbound_routes', { match: { to: '5100' }, target, answer: 'when_answered' })
    const phone = await Phone.open('sender')
    const call = await phone.dial('5100', edge.sip, { maxForwards: 9 })
    await Promise.all([call.outcome, sipp.passed()])
    assert.match(sipp.received('INVITE')[0]!.text, /^Max-Forwards: 8\r?$/m)
    await product.ok('DELETE', `/connections/${id}`)
    await phone.close()
    door.close()
  })

  drachtioTest('a dialled phone rings, answers, and is hung up by the API', async () => {
    const sipp = await Sipp.callee('answers')
    const { id } = await product.ok('POST', '/calls', { to: sipp.uri })
    await sipp.answered(product, id)
    await product.ok('POST', `/calls/${id}/hangup`)
    await sipp.passed()
    assert.equal((await endedCall(product, id)).status, 'completed')
  })

  drachtioTest('what a dialled phone does is the outcome of its call', async () => {
    assert.equal((await outcome('answers-and-hangs-up')).status, 'completed')
    assert.equal(await outcome('busy'), { status: 'busy', ended_reason: 'busy', sip_code: 486 })
    assert.equal(await outcome('declines'), { status: 'failed', ended_reason: 'rejected', sip_code: 603 })
    assert.equal(await outcome('moved'), { status: 'failed', ended_reason: 'rejected', sip_code: 302 })
  })

  drachtioTest('a phone that only rings is cancelled when the time is over (RFC 3261 §9.1)', async () => {
    assert.equal((await outcome('no-answer', { timeout_s: 5 })).status, 'no_answer')
  })

  drachtioTest("a carrier's 401 is answered with the connection's credentials (RFC 3261 §22.2)", async () => {
    const sipp = await Sipp.callee('wants-credentials')
    const door = await withoutOptions(sipp)
    const trunk = { name: 'Carrier', kind: 'trunk', host: '127.0.0.1', port: door.port, auth: CREDENTIALS }
    const { id } = await product.ok('POST', '/connections', trunk)
    const call = await product.ok('POST', '/calls', { to: '+15551234567' })
    await sipp.answered(product, call.id)
    await product.ok('POST', `/calls/${call.id}/hangup`)
    await sipp.passed()
    await product.ok('DELETE', `/connections/${id}`)
    door.close()
  })

  drachtioTest('a phone registers, is rung, is put through and heard', async () => {
    const { userId, account } = await invited(product, 'agent@example.com')
    const registrar = `${edge.sip.host}:${edge.sip.port}`
    const options = { ...account, registrar, transport: 'udp' as const, everyS: 600 }
    const agent = await Baresip.start({ toneHz: TONE_HZ, answers: true, account: options })
    const caller = await Baresip.start({ toneHz: TONE_HZ })
    try {
      await product.until('it is registered', async () => {
        const { registrations } = await product.ok('GET', `/users/${userId}/sip_credential`)
        return registrations.length === 0 ? null : true
      })
      const route = { match: { to: '7000' }, target: { type: 'user', id: userId } }
      await product.ok('POST', '/inbound_routes', route)
      caller.dial(`sip:7000@${registrar}`)
      await agent.until('CALL_ESTABLISHED')
      await caller.until('CALL_ESTABLISHED')
      const call = await callFrom(product, 'baresip')
      await product.until('three seconds of audio', async () => {
        const { quality } = await product.ok('GET', `/calls/${call.id}`)
        return quality.some((leg: { packets_received: number }) => leg.packets_received > 150) ? true : null
      })
      caller.hangup()
      await caller.until('CALL_CLOSED')
      const heard = await caller.heard()
      const level = levelAt(TONE_HZ, heard, heard.length - NARROWBAND_HZ, heard.length)
      assert.ok(level > HEARD_DBOV, `${level} dBov`)
      assert.is((await endedCall(product, call.id)).ended_reason, 'caller_hangup')
    } finally {
      await agent.stop()
      await caller.stop()
    }
  })
}

contract('the fake', fakeEdge)

const real = realEdge()
if (real === null)
  test.skip(
    'the same calls, by way of a real drachtio server',
    'TANDEM_TEST_DRACHTIO_URL and TANDEM_TEST_DRACHTIO_SIP name none; there is no package of it',
  )
else contract(real.name, async () => real)

test(
  'a server that comes back is used again, and a wrong secret is told at the start',
  async () => {
    const edge = await fakeEdge()
    const product = await Product.start({ env: { TANDEM_DRACHTIO_URL: edge.url } })
    if (missing === null) {
      await (await Sipp.caller('call', edge.sip)).passed()
      edge.fake.cut()
      const again = product.until('calls are taken again', async () => {
        const sipp = await Sipp.caller('call', edge.sip)
        return await sipp.passed().then(
          () => true,
          () => null,
        )
      })
      await again
    }
    await product.stop()
    const wrong = { TANDEM_DRACHTIO_URL: edge.url.replace(edge.fake.secret, 'another') }
    const refused = await Product.start({ env: wrong }).then(
      () => '',
      (error: Error) => error.message,
    )
    assert.match(refused, 'does not take our secret')
    assert.not.match(refused, 'another')
    edge.close()
  },
  LIMIT,
)

test.run()
