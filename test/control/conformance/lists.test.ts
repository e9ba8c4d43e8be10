import * as assert from 'uvu/assert'
import type { Route } from '../../../control/http/route.ts'
import { suite } from '../../harness.ts'
import { idsFor, MAKERS, makerOf } from './objects.ts'
import { makeProduct } from './product.ts'
import { prepare } from './requests.ts'
import type { Shape } from './shapes.ts'

const test = suite('control/conformance/lists')

const world = await makeProduct()
const live = makerOf(world)
const key = world.ours.keys.live
await prepare(live)

/** So many requests take their time on a busy machine. */
const SLOW = { timeoutMs: 60_000 }

const isList = ({ method, reply }: Route): boolean =>
  method === 'GET' && (reply as Shape).properties?.object?.const === 'list'
const lists = world.routes.filter(isList)
/** Lists of which the test can make entries: those with one object each at `/:id`. */
const plain = lists.filter(({ path }) => `${path}/:id` in MAKERS && path !== '/request_logs')

const get = async (path: string, query: Record<string, string | number>, asker = key) => {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
  return world.ask(`GET /v1${path}?${new URLSearchParams(pairs)}`, { key: asker })
}

/** Presence has no ID of its own: it is a member's. */
type Item = { id: string; user_id?: never } | { id?: never; user_id: string }
type Page = { data: Item[]; has_more: boolean; next_cursor: string | null }
const idsOf = (page: Page): string[] => page.data.map(({ id, user_id }) => id ?? user_id)

/** Every page in one direction, each with what it begins at. */
async function walk(path: string, limit: number, direction: 'starting_after' | 'ending_before', from?: string) {
  const pages: Page[] = []
  for (let cursor = from; ; ) {
    const { status, body, text } = await get(path, { limit, ...(cursor === undefined ? {} : { [direction]: cursor }) })
    assert.is(status, 200, text)
    pages.push(body)
    if (body.next_cursor === null) return pages
    cursor = body.next_cursor
  }
}

test(
  'a list is newest first, and pages through all of it in both directions',
  async () => {
    assert.ok(plain.length >= 15, `only ${plain.length}`)
    for (const { path } of plain) {
      for (let i = 0; i < 5; i++) await MAKERS[`${path}/:id`]!(live)
      const all = idsOf((await get(path, { limit: 100 })).body)
      // Switched-off and ended ones may be left out of a list; what there is, is in order.
      assert.ok(all.length >= 5, `${path}: ${all.length}`)
      assert.equal(all, [...all].sort().reverse(), `${path} is not newest first`)
      const forwards = await walk(path, 2, 'starting_after')
      assert.equal(forwards.flatMap(idsOf), all, path)
      assert.equal(
        forwards.map(page => page.has_more),
        forwards.map((_, i) => i < forwards.length - 1),
        path,
      )
      const backwards = await walk(path, 2, 'ending_before', all.at(-1))
      assert.equal(backwards.reverse().flatMap(idsOf), all.slice(0, -1), `${path} backwards`)
    }
  },
  SLOW,
)

test(
  'objects that are made or deleted meanwhile neither move nor repeat others',
  async () => {
    const path = '/teams'
    const first = (await get(path, { limit: 2 })).body
    await MAKERS['/teams/:id']!(live)
    await world.ask(`DELETE /v1/teams/${first.data.at(-1).id}`, { key })
    const second = (await get(path, { limit: 2, starting_after: first.next_cursor })).body
    const all = idsOf((await get(path, { limit: 100 })).body)
    const place = all.indexOf(idsOf(first)[0]!)
    assert.equal(idsOf(second), all.slice(place + 1, place + 3))
  },
  SLOW,
)

test(
  'limit is 1 to 100, default 20; a cursor has 1 to 512 characters; one direction at a time',
  async () => {
    for (let i = 0; i < 21; i++) await live.ask('POST /v1/teams', { name: 'Team' })
    assert.is((await get('/teams', {})).body.data.length, 20)
    const cursor = idsOf((await get('/teams', { limit: 1 })).body)[0]!
    for (const route of lists) {
      const ids = await idsFor(route.path, live, route.method)
      const path = route.path.replace(/:([a-z_]+)/g, (_, name) => ids[name] ?? '')
      for (const limit of [1, 100]) assert.is((await get(path, { limit })).status, 200, `${path} ${limit}`)
      const refused: [Record<string, string | number>, string][] = [
        [{ limit: 0 }, 'limit'],
        [{ limit: 101 }, 'limit'],
        [{ limit: 1.5 }, 'limit'],
        [{ limit: 'ten' }, 'limit'],
        [{ starting_after: '' }, 'starting_after'],
        [{ starting_after: 'a'.repeat(512) }, 'starting_after'],
        [{ ending_before: 'a'.repeat(513) }, 'ending_before'],
        [{ ending_before: 'cur_!' }, 'ending_before'],
        [{ starting_after: cursor, ending_before: cursor }, 'ending_before'],
      ]
      for (const [query, param] of refused) {
        const { status, body } = await get(path, query)
        assert.equal([status, body.error.param], [400, param], `${path} ${JSON.stringify(query)}`)
      }
    }
  },
  SLOW,
)

test(
  'a list shows nothing of another organisation or mode',
  async () => {
    for (const { path } of plain) {
      const { id } = await MAKERS[`${path}/:id`]!(live)
      for (const asker of [world.theirs.keys.live, world.ours.keys.test]) {
        const { status, text } = await get(path, { limit: 100 }, asker)
        assert.is(status, 200)
        assert.not.match(text, id!, path)
      }
    }
  },
  SLOW,
)

test.after(world.close)
test.run()
