import * as assert from 'uvu/assert'
import { input } from '../../../control/kernel/schema.ts'
import type { CommandName } from '../../../media/protocol.ts'
import { willingMedia } from '../../fakes/media-port.ts'
import { suite } from '../../harness.ts'
import { ask, serve } from '../app-harness.ts'
import { APP_CONFIG } from '../whole-app.ts'
import { type Ids, makeCall, makerOf } from './objects.ts'
import { makeProduct, productRoutes, UNLIMITED } from './product.ts'
import { bodyFor, lineOf, prepare } from './requests.ts'
import type { Shape } from './shapes.ts'

const test = suite('control/conformance/other-node')

/** Each operation has its own objects. */
const SLOW = { timeoutMs: 60_000 }

test(
  `every operation on another node's call is refused with 409 other_node that names it, and does nothing`,
  async () => {
    const world = await makeProduct()
    const sent: CommandName[] = []
    const willing = willingMedia()
    const media = {
      ...willing,
      request: (async (name, body) => {
        sent.push(name)
        return willing.request(name, body)
      }) as typeof willing.request,
    }
    const config = { ...APP_CONFIG, dataDir: world.dataDir }
    const routes = productRoutes(world, { media, config } as never)
    const app = await serve(world, routes, UNLIMITED)
    const maker = makerOf(world)
    await prepare(maker)
    const room = (await maker.ask('POST /v1/conference_rooms', { name: 'Room' })).id as string
    const { db } = world.store
    const far = async (ids: Ids): Promise<Ids> => {
      await db.updateTable('calls').set({ node_id: 'far' }).execute()
      await db.updateTable('participants').set({ node_id: 'far' }).execute()
      return ids
    }
    // The session that the room's callers are in.
    const { id: session = '' } = await makeCall(maker, { roomId: room })
    await db.updateTable('calls').set({ kind: 'conference' }).where('id', '=', session).execute()
    const operations = routes.filter(
      ({ method, path }) => method !== 'GET' && /^\/(calls\/:id|conference_rooms\/:id\/participants)(\/|$)/.test(path),
    )
    assert.ok(operations.length >= 14, 'there are such operations')
    const refused: string[] = []
    for (const route of operations) {
      const isRoom = route.path.startsWith('/conference_rooms')
      const made = await makeCall(maker, isRoom ? { roomId: room } : {})
      const ids = await far(isRoom ? { ...made, id: room } : made)
      const body = await bodyFor(route.id, (route.body ?? input({})) as Shape, maker)
      sent.length = 0
      const answer = await ask(app, lineOf(route, ids), { key: world.ours.keys.live, body })
      const { reason, node } = answer.body?.error?.details ?? {}
      refused.push(`${route.id} ${answer.status} ${reason} ${node}`)
      assert.equal(sent, [], `${route.id} asked nothing of our media`)
    }
    assert.equal(
      refused,
      operations.map(({ id }) => `${id} 409 other_node far`),
    )
    await app.close()
    await world.close()
  },
  SLOW,
)

test("reading another node's call is answered by every node", async () => {
  const world = await makeProduct()
  const maker = makerOf(world)
  const { id = '' } = await makeCall(maker)
  await world.store.db.updateTable('calls').set({ node_id: 'far' }).execute()
  const answer = await world.ask(`GET /v1/calls/${id}`, { key: world.ours.keys.live })
  assert.equal([answer.status, answer.body.status], [200, 'in_progress'])
  await world.close()
})

test.run()
