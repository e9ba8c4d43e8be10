import * as assert from 'uvu/assert'
import type { Request } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { until } from '../calls-world.ts'
import { callOf, type LiveWorld, makeFlow, makeLiveWorld } from './live-world.ts'

const test = suite('control/assistants/payment')
const SLOW = { timeoutMs: 60_000 }

const to = (next: string, value?: string) => ({
  condition: value === undefined ? { kind: 'always' } : { kind: 'outcome', value },
  next,
})

/** A caller pays, and is told how that went. */
const PAYING = {
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [to('pay')] },
    {
      key: 'pay',
      type: 'payment',
      script: 'One moment.',
      payment: { amount: '12.50' },
      transitions: [to('paid', 'paid'), to('failed', 'failed'), to('other')],
    },
    { key: 'paid', type: 'end', script: 'Thank you.' },
    { key: 'failed', type: 'end', script: 'That went wrong.' },
    { key: 'other', type: 'end', script: 'Something else.' },
  ],
}

interface Paying {
  world: LiveWorld
  callId: string
  /** The payment line's leg, which rings. */
  line: string
}

async function payingCall(flow: object = PAYING): Promise<Paying> {
  const world = await makeLiveWorld()
  const { media } = world
  const connection = await world.make('/connections', { name: 'Trunk', kind: 'trunk', host: '192.0.2.1' })
  await world.make('/phone_numbers', { number: '+14155550142', connection_id: connection, payment_line: true })
  await world.ask('PATCH /v1/organisation', { pci: { enabled: true, max_seconds: 90 } })
  await makeFlow(world, flow)
  media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  const { legId: line } = await media.command('leg.dial')
  return { world, callId, line }
}

const movesOf = ({ world, line }: Paying): Request<'leg.move'>[] =>
  world.media.sent('leg.move').filter(move => move.legId === line)

async function endOf({ world, callId }: Paying): Promise<string> {
  await until(() => !world.media.legs.has('part_1'))
  await world.media.committed()
  return (await world.ask(`GET /v1/calls/${callId}/flow_run`)).body.path.at(-1).node_key
}

/** Together with the caller, and paused. */
const isConnected = ({ world: { media }, callId, line }: Paying): boolean => media.legs.get(line)?.roomId === callId
const isPaused = ({ world: { media }, line }: Paying): boolean => media.pauses.has(JSON.stringify({ legId: line }))

test('a payment line is connected and capture is paused by one command, whoever sends it', async () => {
  const paying = await payingCall()
  const { world, line } = paying
  world.media.pickUp(line)
  await until(() => isConnected(paying))
  assert.ok(isPaused(paying))
  world.media.hangUp(line)
  assert.is(await endOf(paying), 'paid')
  const moves = movesOf(paying)
  assert.ok(moves.length > 0)
  for (const { payment } of moves) assert.equal(payment, { maxSeconds: 90, reason: 'payment', maskDtmf: true })
  assert.equal(world.media.sent('capture.pause'), [])
  await world.close()
})

/** What the payment line of a flow with this payment is told as it rings; null: nothing. */
async function toldOf(due: object, variables: object[] = []): Promise<object | null> {
  const nodes = PAYING.nodes.map(node => (node.type === 'payment' ? { ...node, payment: due } : node))
  const { world } = await payingCall({ ...PAYING, variables, nodes })
  const { target } = await world.media.command('leg.dial')
  await world.close()
  const said = 'userToUser' in target ? target.userToUser : undefined
  if (said === undefined) return null
  const [, hex] = /^((?:[\da-f]{2})+);encoding=hex$/.exec(said)!
  return JSON.parse(Buffer.from(hex!, 'hex').toString())
}

test('a payment line is told what is due, and for what, in as many octets as every network carries (RFC 7433 §3.3)', async () => {
  const due = { amount: '{{sum}}', currency: 'EUR', description: 'Invoice 4711' }
  const sum = { name: 'sum', sample: '12.50' }
  assert.equal(await toldOf(due, [sum]), { ...due, amount: '12.50' })
  assert.equal(await toldOf({ amount: '5' }), { amount: '5' })
  const long = (await toldOf({ amount: '5', description: 'ü'.repeat(200) })) as { description: string }
  assert.match(long.description, /^ü+$/)
  assert.is(Buffer.byteLength(JSON.stringify(long)), 127)
  assert.is(await toldOf({ amount: 'ü'.repeat(64) }), null)
})

test('what is sensitive is not told to the payment line: it would stand in the SIP messages', async () => {
  const due = { amount: '5', description: 'Customer {{number}}' }
  assert.equal(await toldOf(due, [{ name: 'number', sample: '4711', sensitive: true }]), { amount: '5' })
})

test('where the organisation takes payments on payment numbers alone, a node that names another one fails', async () => {
  const world = await makeLiveWorld()
  const connection = await world.make('/connections', { name: 'Trunk', kind: 'trunk', host: '192.0.2.1' })
  await world.make('/phone_numbers', { number: '+14155550142', connection_id: connection, payment_line: true })
  await world.ask('PATCH /v1/organisation', { pci: { enabled: true, payment_numbers_only: true } })
  const nodes = PAYING.nodes.map(node =>
    node.type === 'payment' ? { ...node, target: { type: 'number', id: '+14155550199' } } : node,
  )
  await makeFlow(world, { ...PAYING, nodes })
  world.media.dialIn('part_1', '2000')
  const callId = await callOf(world, 'part_1')
  assert.is(await endOf({ world, callId, line: '' }), 'failed')
  assert.equal(world.media.sent('leg.dial'), [])
  await world.close()
})

test(
  'whenever control dies, the payment line is never with the caller without its pause',
  async () => {
    // Before the line answers; after it has, with the command lost; with the command done and its reply lost; while they talk.
    const deaths: ((paying: Paying) => Promise<void>)[] = [
      async ({ world, line }) => {
        await world.restart()
        world.media.pickUp(line)
      },
      async ({ world, line }) => {
        world.media.overrides.set('leg.move', () => 'silence')
        world.media.pickUp(line)
        await world.media.command('leg.move', line)
        world.media.overrides.clear()
        await world.restart()
      },
      async ({ world, line }) => {
        const { media } = world
        media.overrides.set('leg.move', () => {
          media.overrides.clear()
          void world.restart()
          return undefined
        })
        media.pickUp(line)
      },
      async paying => {
        paying.world.media.pickUp(paying.line)
        await until(() => isConnected(paying))
        await paying.world.restart()
      },
    ]
    for (const death of deaths) {
      const paying = await payingCall()
      let wasBare = false
      const watch = setInterval(() => {
        wasBare ||= isConnected(paying) && !isPaused(paying)
      }, 1)
      await death(paying)
      await until(() => isConnected(paying))
      await paying.world.media.committed()
      assert.ok(isPaused(paying))
      assert.ok(movesOf(paying).every(({ payment }) => payment !== undefined))
      clearInterval(watch)
      assert.not(wasBare)
      paying.world.media.hangUp(paying.line)
      assert.is(await endOf(paying), 'paid')
      await paying.world.close()
    }
  },
  SLOW,
)

test('a payment that its pause has run out on, or that broke off, has failed', async () => {
  for (const reason of ['max_duration', 'rtp_timeout'] as const) {
    const paying = await payingCall()
    const { media } = paying.world
    media.pickUp(paying.line)
    await until(() => isConnected(paying))
    await media.committed()
    media.hangUp(paying.line, reason)
    assert.is(await endOf(paying), 'failed', reason)
    await paying.world.close()
  }
})

for (const [cause, outcome] of [
  [{ q850: 16, sip: null, by: 'far_end' }, 'paid'],
  [{ q850: 31, sip: null, by: 'far_end' }, 'paid'],
  [{ q850: 127, sip: null, by: 'far_end' }, 'paid'],
  [{ q850: 127, sip: 500, by: 'far_end' }, 'failed'],
  [{ q850: 16, sip: 200, by: 'far_end' }, 'paid'],
  [{ q850: 41, sip: null, by: 'far_end' }, 'failed'],
  [{ q850: 16, sip: 503, by: 'far_end' }, 'failed'],
  [{ q850: 16, sip: null, by: 'tandem' }, 'failed'],
] as const) {
  const { q850, sip, by } = cause
  test(`a payment whose line ends with Q.850 ${q850}${sip === null ? '' : ` and SIP ${sip}`} by ${by} counts as ${outcome}`, async () => {
    const paying = await payingCall()
    const { media } = paying.world
    media.pickUp(paying.line)
    await until(() => isConnected(paying))
    await media.committed()
    media.hangUp(paying.line, by === 'tandem' ? 'api_hangup' : 'agent_hangup', null, { ...cause, text: null })
    assert.is(await endOf(paying), outcome)
    await paying.world.close()
  })
}

test.run()
