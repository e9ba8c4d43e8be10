// One database: what is asked is judged by the schema of its operation, before any store is.
import * as assert from 'uvu/assert'
import { problem } from '../../../control/http/errors.ts'
import { exampleOf } from '../../../control/http/pages/example.ts'
import type { Route } from '../../../control/http/route.ts'
import { input } from '../../../control/kernel/schema.ts'
import type { Schema } from '../../../control/kernel/versions/shape.ts'
import { suite } from '../../harness.ts'
import { ask, makeWorld, serve } from '../app-harness.ts'
import { casesOf, unbounded } from './cases.ts'
import { productRoutes } from './product.ts'
import { placesOf, type Shape } from './shapes.ts'

const test = suite('control/conformance/parameters')

const world = await makeWorld()
const routes = productRoutes(world)
/** The product's own pipeline and schemas; what gets through says so, and does nothing. */
const reached = routes.map(
  (route): Route => ({ ...route, mode: undefined as never, handler: async () => problem('plan_limit', 'reached') }),
)
const app = await serve(world, reached, { burst: 1e9, perSecond: 1e9 })
const key = world.ours.keys.live

const lineOf = ({ method, path }: Route): string =>
  `${method} /v1${path.replace(/:[a-z_]+/g, 'usr_01k90000000000000000000003')}`
const name = ({ method, path }: Route): string => `${method} ${path}`
const withBody = routes.filter(route => route.method !== 'GET')
const bodyShape = (route: Route): Shape => (route.body ?? input({})) as Shape

test('every string, list, number and map that an operation takes has its bounds', () => {
  // A file is bounded by what its operation takes at all.
  const isFile = (route: Route, param: string) => route.upload !== undefined && param === 'file.content_base64'
  const places = withBody.flatMap(route =>
    unbounded(bodyShape(route))
      .filter(param => !isFile(route, param))
      .map(param => `${name(route)} ${param}`),
  )
  assert.equal(places, [])
  const queries = routes.flatMap(route =>
    unbounded((route.query as Shape) ?? {}).map(param => `${name(route)} ${param}`),
  )
  assert.equal(queries, [])
})

test('no name or label that something has to have may be blank', () => {
  const blank = withBody.flatMap(route =>
    placesOf(bodyShape(route))
      .filter(({ param, shape }) => /(^|\.)(name|label)$/.test(param) && (shape.minLength ?? 0) > 0)
      .filter(({ shape: { pattern = '' } }) => new RegExp(pattern).test('   '))
      .map(({ param }) => `${name(route)} ${param}`),
  )
  assert.equal(blank, [])
})

test(
  'a body is taken as it is: both sides of every bound, every type, every unknown and missing parameter',
  async () => {
    const wrong: string[] = []
    let count = 0
    for (const route of withBody) {
      for (const { body, param, what } of casesOf(bodyShape(route))) {
        count++
        const answer = await ask(app, lineOf(route), { key, body })
        const { code, param: at, message } = answer.body.error
        // Nobody reads a regular expression, or the words of the library.
        if (/must match|must NOT/.test(message)) wrong.push(message)
        const says = `${name(route)} ${what}: ${answer.status} ${code} ${at} ${answer.body.error.message}`
        if (param === undefined ? code !== 'plan_limit' : answer.status !== 400 || at !== param) wrong.push(says)
      }
    }
    assert.equal(wrong, [])
    assert.ok(count > 1000, `only ${count}`)
  },
  { timeoutMs: 60_000 },
)

test("the example of every operation in /docs passes the operation's schema", async () => {
  for (const route of withBody) {
    const body = exampleOf(bodyShape(route) as Schema, 'required')
    const { code, message } = (await ask(app, lineOf(route), { key, body })).body.error
    assert.is(code, 'plan_limit', `${name(route)} ${JSON.stringify(body)}: ${message}`)
  }
})

test.run()
