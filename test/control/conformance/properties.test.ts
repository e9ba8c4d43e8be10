// One database: what is asked is judged by the schema of its operation, before any store is.
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import type { Route } from '../../../control/http/route.ts'
import { input } from '../../../control/kernel/schema.ts'
import { suite } from '../../harness.ts'
import { type Answer, ask } from '../app-harness.ts'
import { broken, fitting } from './arbitrary.ts'
import { idsFor, MAKERS, type Maker, makerOf } from './objects.ts'
import { makeProduct } from './product.ts'
import { Reads } from './reads.ts'
import { lineOf, prepare } from './requests.ts'
import { allRows, changedTables, rowsReader } from './rows.ts'
import type { Shape } from './shapes.ts'
import { envelopeFaults, faultsOf } from './strict.ts'

const test = suite('control/conformance/properties')

const SEED = Number(process.env.TANDEM_FUZZ_SEED ?? 20_261_121)
const reads = new Reads()
/** Values of a call, which are read where a tool's templates name them. */
const BY_NAME = 'POST /tools/:id/test call '
const world = await makeProduct(reads.of)
const FITTING = Number(process.env.TANDEM_FUZZ_RUNS ?? 8)
const BROKEN = Math.ceil(FITTING * 0.75)

const live = makerOf(world)
const inTest = makerOf(world, 'ours', false)
for (const maker of [live, inTest]) await prepare(maker)

/** IDs of one object of each kind, for bodies that name others. */
async function someIds(maker: Maker): Promise<string[]> {
  const kinds = Object.keys(MAKERS).filter(path => maker.tenant.livemode || !path.startsWith('/callbacks'))
  const made: string[] = []
  for (const path of kinds) made.push(...Object.values(await MAKERS[path]!(maker)))
  return made
}
const ids = new Map([
  [live, await someIds(live)],
  [inTest, await someIds(inTest)],
])

const rows = await rowsReader(world.store)

const JSON_TYPE = { 'content-type': 'application/json' }
const faults: string[] = []
let [successes, refusals] = [0, 0]

/** A request never fails on our side; a refused one has changed nothing; an answer is as its schema has it. */
async function judge(route: Route, answer: Answer, sent: unknown): Promise<void> {
  const says = (fault: string) =>
    faults.push(`${route.method} ${route.path} ${answer.status}: ${fault}; sent ${JSON.stringify(sent)?.slice(0, 400)}`)
  if (answer.status >= 500) says(answer.text)
  if (answer.status < 400) {
    successes++
    await rows.settle()
    if (answer.body !== null) for (const fault of faultsOf(route.reply, answer.body)) says(fault)
    return
  }
  refusals++
  for (const fault of envelopeFaults(answer)) says(fault)
  const changed = await rows.changes()
  if (changed.length > 0) says(`refused, and yet it changed ${changed}`)
}

test(
  'no query is answered 5xx, and none changes anything',
  async () => {
    for (const [i, route] of world.routes.filter(({ method }) => method === 'GET').entries()) {
      const names = Object.keys(((route.query ?? input({})) as Shape).properties ?? {})
      const known = ids.get(live) ?? []
      const value = fc.oneof(
        fc.constantFrom(...known, '', '0', '1', '1e3', '\0', '%00', 'cur_', 'cur_Zm9v'),
        fc.string(),
      )
      const query = fc.dictionary(fc.constantFrom(...names, 'no_such_parameter'), value, { maxKeys: 3 })
      const path = await idsFor(route.path, live, route.method)
      const before = await rows()
      for (const sent of fc.sample(query, { seed: SEED + i, numRuns: FITTING })) {
        const line = `${lineOf(route, path)}?${new URLSearchParams(sent).toString()}`
        const answer = await ask(world.app, line, { key: world.ours.keys.live })
        if (answer.status >= 500) faults.push(`${line}: ${answer.text}`)
        if (answer.status >= 400) faults.push(...envelopeFaults(answer).map(fault => `${line}: ${fault}`))
      }
      const changed = changedTables(before, await rows())
      if (changed.length > 0) faults.push(`GET ${route.path} changed ${changed}`)
    }
    assert.equal(faults.splice(0), [])
  },
  { timeoutMs: 120_000 },
)

test(
  'no body is answered 5xx, and none that is refused leaves a row or an event behind',
  async () => {
    for (const [i, route] of world.routes.filter(({ method }) => method !== 'GET').entries()) {
      const maker = route.mode === 'test' ? inTest : live
      const key = maker === live ? world.ours.keys.live : world.ours.keys.test
      const shape = (route.body ?? input({})) as Shape
      const known = ids.get(maker) ?? []
      const bodies = [
        ...fc.sample(fitting(shape, known), { seed: SEED + i, numRuns: FITTING }),
        ...fc.sample(broken(shape, known), { seed: SEED + i, numRuns: BROKEN }),
      ]
      let path = await idsFor(route.path, maker, route.method)
      await rows.settle()
      for (const body of bodies) {
        const answer = await ask(world.app, lineOf(route, path), {
          key,
          body: JSON.stringify(body),
          headers: JSON_TYPE,
        })
        await judge(route, answer, body)
        if (route.method !== 'DELETE' || answer.status !== 200) continue
        path = await idsFor(route.path, maker, route.method)
        await rows.settle()
      }
    }
    assert.equal(faults.splice(0), [])
    assert.ok(successes > 50 && refusals > 100, `${successes} successes, ${refusals} refusals`)
  },
  { timeoutMs: 220_000 },
)

test('every change of a row was seen', async () => {
  assert.equal(changedTables(await allRows(world.store), await rows()), [])
})

test('no operation takes a parameter that it does not look at', () => {
  assert.equal(
    reads.ignored.filter(place => !place.startsWith(BY_NAME)),
    [],
  )
})

test.after(world.close)
test.run()
