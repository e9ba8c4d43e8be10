import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { openStore } from '../../../control/kernel/store/store.ts'
import type { DispatcherBounds } from '../../../control/webhooks/dispatcher.ts'
import { webhookEndpointRoutes } from '../../../control/webhooks/endpoints/routes.ts'
import { addOrganisation } from '../../../control/wiring/first-start.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { forkFile } from '../../fork.ts'
import { suite } from '../../harness.ts'
import { ask, makeClock, serve } from '../app-harness.ts'
import { makeDatabase } from '../database.ts'
import { vault } from './webhook-world.ts'

const test = suite('control/webhooks/killed')

const ENTRY = 'control/webhooks/killable-control.ts'
const ENDLESS = 1_000_000
const PATIENCE_MS = 30_000

/** A database with an endpoint at a receiver; closed by us before the first child opens it. */
async function prepare(bounds: Partial<DispatcherBounds>) {
  const { target, remove } = await makeDatabase()
  const store = await openStore(target)
  const clock = makeClock()
  const organisation = { name: 'Ours', pciEnabled: false, now: clock.now() }
  const { organisationId, keys } = await store.transaction(trx => addOrganisation(trx, organisation))
  const receiver = await new WebhookReceiver().listen()
  const routes = webhookEndpointRoutes({
    store,
    vault,
    now: clock.now,
    resolve: async () => [],
    allowedNetworks: ['127.0.0.0/8'],
  })
  const world = { store, clock, ours: { organisationId, keys }, theirs: { organisationId, keys } }
  const app = await serve(world, routes)
  const made = await ask(app, 'POST /v1/webhook_endpoints', { key: keys.live, body: { url: receiver.url } })
  assert.is(made.status, 201)
  await app.close()
  await store.close()
  const acknowledged: string[] = []
  const run = (makes: number): ChildProcess => {
    const child = forkFile(ENTRY, [target, organisationId, String(makes), JSON.stringify(bounds)])
    child.on('message', id => acknowledged.push(String(id)))
    return child
  }
  const close = async (): Promise<void> => {
    await receiver.close()
    await remove()
  }
  /** What the database says about the deliveries of these events. */
  const stateOf = async (eventIds: readonly string[]): Promise<string> => {
    const reader = await openStore(target)
    const columns = ['event_id', 'status', 'attempts', 'error', 'next_attempt_at', 'leased_until'] as const
    const rows = reader.db.selectFrom('webhook_deliveries').select(columns).where('event_id', 'in', eventIds)
    return rows
      .execute()
      .then(found => JSON.stringify(found, null, 1))
      .finally(() => reader.close())
  }
  return { receiver, acknowledged, run, stateOf, close }
}

const arrived = (receiver: WebhookReceiver): Set<string> =>
  new Set(receiver.received.map(({ headers }) => String(headers['webhook-id'])))

/** Resolves when it holds; fails with what `state` says when it never does. */
async function eventually(done: () => boolean, state: () => string | Promise<string>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  while (!done()) {
    if (Date.now() > deadline) throw new Error(await state())
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

test(
  'control is killed with -9 again and again under load, and every event that was committed is delivered',
  async () => {
    // A short lease, so that what a killed process had under way is due again soon.
    const { receiver, acknowledged, run, stateOf, close } = await prepare({
      timeoutMs: 1500,
      leaseMs: 2000,
      pollMs: 50,
    })
    // Some answers are slow, so that a kill finds attempts under way; a few fail, so that it finds retries waiting.
    const taken = new Set<string>()
    const refused = new Set<string>()
    let count = 0
    receiver.answer = (response, { headers }) => {
      const id = String(headers['webhook-id'])
      count += 1
      if (count % 50 === 0 && !refused.has(id)) {
        refused.add(id)
        response.writeHead(500).end()
        return
      }
      // Told to nobody any more when who asked is dead by then.
      response.once('finish', () => taken.add(id))
      setTimeout(() => response.writeHead(204).end(), count % 7 === 0 ? 50 : 0)
    }
    for (let round = 0; round < 4; round++) {
      const before = acknowledged.length
      const child = run(ENDLESS)
      const enough = before + 20 + round * 17
      await eventually(
        () => acknowledged.length >= enough,
        () => `round ${round}: ${acknowledged.length} of ${enough}`,
      )
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
    const untaken = (): string[] => acknowledged.filter(id => !taken.has(id))
    const lostYet = untaken().length
    const last = run(0)
    await eventually(
      () => untaken().length === 0,
      async () =>
        `${untaken().length} of ${acknowledged.length} were never taken, at ${new Date().toISOString()}: ${await stateOf(untaken())}`,
    )
    assert.ok(lostYet > 0, 'a kill found nothing under way: the test proves nothing')
    const gone = once(last, 'exit')
    last.kill('SIGKILL')
    await gone
    await close()
  },
  { timeoutMs: 120_000 },
)

test(
  'two control processes on one database deliver each event once',
  async () => {
    const { receiver, acknowledged, run, close } = await prepare({ pollMs: 10 })
    const children = [run(150), run(150)]
    await eventually(
      () => acknowledged.length === 300 && arrived(receiver).size === 300,
      () => `${acknowledged.length} committed, ${arrived(receiver).size} delivered`,
    )
    assert.is(receiver.received.length, 300)
    for (const child of children) {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
    await close()
  },
  { timeoutMs: 60_000 },
)

test.run()
