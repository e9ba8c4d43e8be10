import * as assert from 'uvu/assert'
import '../../../control/wiring/event-catalog.ts'
import { suite } from '../../harness.ts'
import { type Answer, ask } from '../app-harness.ts'
import { idsFor, MAKERS, type Maker, makerOf } from './objects.ts'
import { makeProduct } from './product.ts'
import { bodyFor, lineOf, prepare } from './requests.ts'
import { bodyWith, type Place, placesOf, type Shape } from './shapes.ts'

const test = suite('control/conformance/references')

const UNKNOWN = 'usr_01k90000000000000000000003'
/** Members go by what they do. */
const MEMBERS = ['agent', 'owner']
/** IDs that name nothing of ours, or only when the object is used. */
const UNCHECKED: Record<string, string> = {
  'POST /flows graph.nodes[0].asset_id': 'a draft may be unfinished: its validation tells',
  'POST /flows graph.nodes[0].target.id': 'a draft may be unfinished: its validation tells',
  'PUT /flows/:id/draft graph.nodes[0].asset_id': 'a draft may be unfinished: its validation tells',
  'PUT /flows/:id/draft graph.nodes[0].target.id': 'a draft may be unfinished: its validation tells',
  'POST /flows/validate graph.nodes[0].asset_id': 'the answer lists what is wrong',
  'POST /flows/validate graph.nodes[0].target.id': 'the answer lists what is wrong',
  'PATCH /tools/:id target.id': 'of transfers only, and a tool keeps its kind',
  'PATCH /tools/:id knowledge.document_ids[0]': 'of searches only, and a tool keeps its kind',
  'POST /tools/:id/test call.call_id': 'an example of what a call would tell the tool',
}

/** What goes with the ID where the smallest body that succeeds does not. */
const BASES: Record<string, object> = {
  'POST /calls/:id/transfer': {},
  'POST /tools target.id': { name: 'desk', kind: 'transfer', target: { type: 'queue' } },
  'POST /tools knowledge.document_ids[0]': { kind: 'search_knowledge' },
}

const world = await makeProduct()
const ours = makerOf(world)
const strangers = [makerOf(world, 'theirs'), makerOf(world, 'ours', false)]
for (const maker of [ours, ...strangers]) await prepare(maker)

/** An object of every kind, by its collection. */
async function objectsOf(maker: Maker): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for (const [path, make] of Object.entries(MAKERS)) {
    const collection = /^\/([a-z_/]+)\/:id$/.exec(path)?.[1]
    const needsLive = collection === 'callbacks' && !maker.tenant.livemode
    if (collection !== undefined && !needsLive) all.set(collection, (await make(maker)).id!)
  }
  return all
}

const named = ({ at, shape }: Place): string | null => {
  const name = at.filter(part => typeof part === 'string').at(-1) ?? ''
  return shape.type === 'string' && /(^|_)ids?$/.test(name) ? name : null
}

/** The collections to which the IDs of a parameter of this name may belong: `reviewer_user_id` is a user's; all, if the name does not tell. */
function collectionsFor(name: string, all: string[]): string[] {
  const noun = name
    .replace(/_?ids?$/, '')
    .split('_')
    .at(-1)!
  const plural = MEMBERS.includes(noun) ? 'users' : `${noun}s`
  const fitting = all.filter(collection => collection.endsWith(plural))
  return noun !== '' && fitting.length > 0 ? fitting : all
}

/** `body`, with what `other` has on the way to this place. */
function withPlace(body: unknown, other: unknown, at: readonly (string | number)[]): unknown {
  const [first, ...rest] = at
  if (first === undefined || typeof body !== 'object' || body === null) return other
  const inner = withPlace(body[first as keyof typeof body], (other as Record<string, unknown>)[first], rest)
  if (Array.isArray(body)) return body.length === 0 ? [inner] : body.with(Number(first), inner)
  return { ...body, [first]: inner }
}

const problemOf = ({ status, body }: Answer): string => `${status} ${body?.error?.code} ${body?.error?.param}`

test(
  'an ID in a body that names nothing, or something of another organisation or mode, is refused alike',
  async () => {
    const foreign = await Promise.all(strangers.map(objectsOf))
    const faults: string[] = []
    let places = 0
    for (const route of world.routes.filter(one => one.method !== 'GET' && one.mode !== 'test')) {
      const shape = (route.body ?? {}) as Shape
      for (const place of placesOf(shape)) {
        const name = named(place)
        const where = `${route.method} ${route.path} ${place.param}`
        if (name === null || UNCHECKED[where] !== undefined) continue
        places++
        const ids = await idsFor(route.path, ours, route.method)
        const base = BASES[where] ?? BASES[`${route.method} ${route.path}`] ?? (await bodyFor(route.id, shape, ours))
        const say = async (id: string): Promise<Answer> => {
          const body = withPlace(base, bodyWith(shape, place.at, id), place.at) as object
          return ask(world.app, lineOf(route, ids), { key: world.ours.keys.live, body })
        }
        const unknown = await say(UNKNOWN)
        const isTold = unknown.body?.error?.param === place.param || unknown.status === 409
        if (!isTold) faults.push(`${where}: ${problemOf(unknown)} for no such ID`)
        const isOfBothModes = route.id === 'updateOrganisation'
        for (const objects of isOfBothModes ? foreign.slice(0, 1) : foreign) {
          for (const collection of collectionsFor(name, [...objects.keys()])) {
            const id = objects.get(collection)
            if (id === undefined) continue
            const answer = await say(id)
            if (problemOf(answer) !== problemOf(unknown)) faults.push(`${where}, ${collection}: ${problemOf(answer)}`)
          }
        }
      }
    }
    assert.equal(faults, [])
    assert.ok(places > 80, `${places} places`)
  },
  { timeoutMs: 120_000 },
)

test.after(world.close)
test.run()
