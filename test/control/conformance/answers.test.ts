import * as assert from 'uvu/assert'
import '../../../control/wiring/event-catalog.ts'
import { isProblem } from '../../../control/http/errors.ts'
import { isRaw, type Route } from '../../../control/http/route.ts'
import { failureStatuses, takesIdempotencyKey } from '../../../control/http/wire/openapi.ts'
import { kindOfEvent } from '../../../control/kernel/events/catalog.ts'
import { input } from '../../../control/kernel/schema.ts'
import { absentMedia } from '../../fakes/media-port.ts'
import { suite } from '../../harness.ts'
import { type Answer, type Asked, ask, serve } from '../app-harness.ts'
import { APP_CONFIG } from '../whole-app.ts'
import { CATALOGUES, type Ids, idsFor, type Maker, makerOf, untouchedIdsFor } from './objects.ts'
import { makeProduct, productRoutes, UNLIMITED } from './product.ts'
import { bodyFor, lineOf, prepare, SPECIALS } from './requests.ts'
import type { Shape } from './shapes.ts'
import { envelopeFaults, faultsOf } from './strict.ts'

const test = suite('control/conformance/answers')

/** So many requests take their time on a busy machine. */
const SLOW = { timeoutMs: 180_000 }

const name = ({ method, path }: Route): string => `${method} ${path}`
const faults: string[] = []
const seen = new Map<string, Set<number>>()

/** Looks at what a handler gives before it is serialised, which would leave out what the schema does not name. */
const watched = (route: Route): Route => ({
  ...route,
  handler: async (context, request) => {
    const result = await route.handler(context, request)
    if (isProblem(result) || isRaw(result)) return result
    const plain = JSON.parse(JSON.stringify(result))
    faults.push(...faultsOf(route.reply, plain).map(fault => `${name(route)} gives ${fault}`))
    return result
  },
})

const world = await makeProduct(watched)
const { routes } = world
const live = makerOf(world)
const inTest = makerOf(world, 'ours', false)
const makerFor = (route: Route): Maker => (route.mode === 'test' ? inTest : live)
const keyOf = ({ tenant }: Maker): string => {
  const { keys } = tenant.organisationId === world.ours.organisationId ? world.ours : world.theirs
  return tenant.livemode ? keys.live : keys.test
}
for (const maker of [live, inTest]) await prepare(maker)

/** Asks, notes the status, and looks whether the operation may answer so. */
async function see(route: Route, ids: Ids, asked: Asked, app = world.app): Promise<Answer> {
  const answer = await ask(app, lineOf(route, ids), asked)
  const { status } = answer
  const says = (fault: string) => faults.push(`${name(route)} ${status}: ${fault}`)
  if (!documented(route).includes(status)) says(`is not documented: ${answer.text.slice(0, 300)}`)
  // A replay is the first answer as it was, with the ID of the first request.
  const isReplay = answer.headers['idempotent-replayed'] !== undefined
  if (status >= 400 && !isReplay) for (const fault of envelopeFaults(answer)) says(fault)
  if (answer.headers['request-id'] === undefined) says('no Request-Id')
  if (answer.headers['service-version'] === undefined) says('no Service-Version')
  seen.set(route.id, (seen.get(route.id) ?? new Set()).add(status))
  return answer
}

const documented = (route: Route): number[] => {
  const ranged = route.errors?.includes(416) ? [206] : []
  return [route.status, ...ranged, ...failureStatuses(route)]
}

const shapeOf = (route: Route): Shape => (route.body ?? input({})) as Shape

async function succeed(route: Route, headers: Record<string, string> = {}, app = world.app): Promise<Answer> {
  const maker = makerFor(route)
  const ids = await idsFor(route.path, maker, route.method)
  const body = route.method === 'GET' ? {} : { body: await bodyFor(route.id, shapeOf(route), maker) }
  return see(route, ids, { key: keyOf(maker), ...body, headers }, app)
}

const refused = new Map<Route, object>()

/** What goes with a request that would succeed, were it not refused for another reason: nothing uses up what it names. */
async function refusedBody(route: Route): Promise<{ body?: object }> {
  if (route.method === 'GET') return {}
  const body = refused.get(route) ?? (await bodyFor(route.id, shapeOf(route), makerFor(route)))
  refused.set(route, body)
  return { body }
}

/** Fails with everything that was noted since the last time. */
function none(): void {
  assert.equal(faults.splice(0), [])
}

test(
  'every operation answers its success, each field as its schema has it: no more, no less',
  async () => {
    for (const route of routes) {
      const answer = await succeed(route)
      if (answer.status !== route.status) faults.push(`${name(route)}: ${answer.status} ${answer.text}`)
      if (answer.body !== null)
        faults.push(...faultsOf(route.reply, answer.body).map(fault => `${name(route)} ${fault}`))
    }
    none()
  },
  SLOW,
)

test(
  'a Range gives a part of a file, 206; one that lies outside of it 416, and how long the file is',
  async () => {
    for (const route of routes.filter(one => one.errors?.includes(416))) {
      const { status, headers } = await succeed(route, { range: 'bytes=0-3' })
      assert.equal([status, headers['content-length']], [206, '4'], name(route))
      assert.match(String(headers['content-range']), /^bytes 0-3\/\d+$/)
      const outside = await succeed(route, { range: 'bytes=99999999-' })
      assert.is(outside.status, 416, name(route))
      assert.match(String(outside.headers['content-range']), /^bytes \*\/\d+$/)
    }
    none()
  },
  SLOW,
)

test(
  'no key, and a key that does not exist, answer 401; a key without the scope or of the other mode 403',
  async () => {
    const scopes = [...new Set(routes.map(route => route.scope))]
    const without = new Map<string, Promise<{ secret: string }>>()
    const keyWithout = (scope: string, maker: Maker) => {
      const key = `${scope} ${maker.tenant.livemode}`
      const others = scopes.filter(other => other !== scope)
      const made = without.get(key) ?? maker.ask('POST /v1/api_keys', { scopes: others })
      without.set(key, made)
      return made
    }
    for (const route of routes) {
      for (const key of [undefined, 'sk_live_nobody']) {
        const { status } = await see(route, {}, key === undefined ? {} : { key })
        if (status !== 401) faults.push(`${name(route)}: ${status} for ${key}`)
      }
      const maker = makerFor(route)
      const { secret } = await keyWithout(route.scope, maker)
      const lacks = await see(route, {}, { key: secret })
      if (lacks.body.error?.code !== 'scope_missing') faults.push(`${name(route)}: ${lacks.text}`)
      if (route.mode === undefined) continue
      const wrong = await see(route, {}, { key: keyOf(route.mode === 'live' ? inTest : live) })
      if (wrong.body.error?.code !== `${route.mode}_key_required`) faults.push(`${name(route)}: ${wrong.text}`)
    }
    none()
  },
  SLOW,
)

test(
  'an ID of another organisation or mode answers 404, as one that does not exist',
  async () => {
    for (const route of routes.filter(one => one.path.includes(':'))) {
      const maker = makerFor(route)
      const ids = await untouchedIdsFor(route.path, maker, route.method)
      const body = await refusedBody(route)
      const otherMode = maker === live ? inTest : live
      const isEverybodys = CATALOGUES.some(path => route.path.startsWith(`${path}/`))
      const strangers = isEverybodys ? [] : [makerOf(world, 'theirs', maker.tenant.livemode), otherMode]
      for (const stranger of strangers) {
        const key = keyOf(stranger)
        const { status, body: said } = await see(route, ids, { key, ...body })
        const isOtherMode = said?.error?.code === `${route.mode}_key_required`
        if (status !== 404 && !isOtherMode) faults.push(`${name(route)}: ${status}`)
        if (status === 404 && said.error.code !== 'resource_missing') faults.push(`${name(route)}: ${said.error.code}`)
      }
      const { status } = await see(route, {}, { key: keyOf(maker), ...body })
      if (status !== 404) faults.push(`${name(route)}: ${status} for no such ID`)
    }
    none()
  },
  SLOW,
)

test(
  'an unknown parameter in the query, and a body that is no JSON, answer 400',
  async () => {
    for (const route of routes) {
      const maker = makerFor(route)
      const key = keyOf(maker)
      const body = await refusedBody(route)
      const unknown = await ask(world.app, `${lineOf(route, {})}?no_such_parameter=1`, { key, ...body })
      const { code, param } = unknown.body.error
      if (unknown.status !== 400 || code !== 'parameter_unknown' || param !== 'no_such_parameter') {
        faults.push(`${name(route)}: ${unknown.text}`)
      }
      if (route.method === 'GET') continue
      for (const [text, type] of [
        ['{"a":', 'application/json'],
        ['a=1', 'application/x-www-form-urlencoded'],
      ] as const) {
        const [method, url] = lineOf(route, {}).split(' ')
        const headers = { authorization: `Bearer ${key}`, 'content-type': type }
        const answer = await world.app.inject({ method: method as 'POST', url: url!, headers, payload: text })
        if (answer.statusCode !== 400 || answer.json().error.code !== 'invalid_json') {
          faults.push(`${name(route)} ${type}: ${answer.payload}`)
        }
      }
    }
    for (const route of routes)
      await see(route, {}, { key: keyOf(makerFor(route)), headers: { 'service-version': '1999-01-01' } })
    none()
  },
  SLOW,
)

test(
  'a retry with the same Idempotency-Key gets the first answer and does nothing; other parameters answer 409',
  async () => {
    for (const route of routes.filter(takesIdempotencyKey)) {
      const maker = makerFor(route)
      const ids = await idsFor(route.path, maker, route.method)
      const body = await bodyFor(route.id, shapeOf(route), maker)
      const asked = { key: keyOf(maker), body, headers: { 'idempotency-key': `key of ${route.id}` } }
      const first = await see(route, ids, asked)
      const again = await see(route, ids, asked)
      if (first.status !== route.status) faults.push(`${name(route)}: ${first.text}`)
      if (again.text !== first.text || again.status !== first.status) faults.push(`${name(route)}: ${again.text}`)
      if (again.headers['idempotent-replayed'] !== 'true') faults.push(`${name(route)}: not replayed`)
      const other = await see(route, ids, { ...asked, body: { ...body, no_such_parameter: 1 } })
      if (other.body.error?.code !== 'idempotency_key_reused') faults.push(`${name(route)}: ${other.text}`)
    }
    none()
  },
  SLOW,
)

test(
  'what the state of an object does not allow answers 409',
  async () => {
    for (const { operation, status, make } of SPECIALS) {
      const route = routes.find(({ id }) => id === operation)
      assert.ok(route, `no operation ${operation}`)
      const maker = makerFor(route)
      const { ids, ...asked } = await make(maker)
      const answer = await see(route, ids, { key: keyOf(maker), ...asked })
      if (answer.status !== status) faults.push(`${name(route)}: ${answer.status} ${answer.text}, not ${status}`)
    }
    none()
  },
  SLOW,
)

test(
  'too many requests answer 429, a failure of ours 500, a media process or a database that is away 503',
  async () => {
    const hurried = await serve(world, routes, { burst: 0, perSecond: 1 })
    const broken = await serve(
      world,
      routes.map(route => ({
        ...route,
        handler: async () => {
          throw new Error('broken on purpose')
        },
      })),
      UNLIMITED,
    )
    const storeless = await serve(
      world,
      routes.map(route => ({
        ...route,
        handler: async () => {
          throw Object.assign(new Error('full on purpose'), { code: 'SQLITE_FULL' })
        },
      })),
      UNLIMITED,
    )
    const deaf = productRoutes(world, {
      media: absentMedia(),
      config: { ...APP_CONFIG, dataDir: world.dataDir },
    } as never)
    const alone = await serve(world, deaf, UNLIMITED)
    for (const route of routes) {
      const { status } = await see(route, {}, { key: keyOf(makerFor(route)) }, hurried)
      if (status !== 429) faults.push(`${name(route)}: ${status}, not 429`)
      const maker = makerFor(route)
      const body = await refusedBody(route)
      const failed = await see(route, {}, { key: keyOf(maker), ...body }, broken)
      if (failed.status !== 500) faults.push(`${name(route)}: ${failed.text}, not 500`)
      const waits = await see(route, {}, { key: keyOf(maker), ...body }, storeless)
      if (waits.status !== 503 || waits.body.error.code !== 'store_unavailable') {
        faults.push(`${name(route)}: ${waits.text}, not 503 store_unavailable`)
      }
      if ((failed.text + waits.text).includes('on purpose')) faults.push(`${name(route)} tells what broke`)
      if (!route.errors?.includes(503)) continue
      const away = await succeed(route, {}, alone)
      if (away.status !== 503) faults.push(`${name(route)}: ${away.status} ${away.text}, not 503`)
    }
    for (const app of [hurried, broken, storeless, alone]) await app.close()
    none()
  },
  SLOW,
)

/** Answered for any operation before one is known; what a socket gets then is seen in `http/newcomers.test.ts`. */
const UNROUTED = [408, 431]

test('every status that an operation documents has been seen', () => {
  const missing = routes.flatMap(route =>
    documented(route)
      .filter(status => !UNROUTED.includes(status) && !seen.get(route.id)?.has(status))
      .map(status => `${name(route)} (${route.id}) ${status}`),
  )
  assert.equal(missing, [])
})

test("what events tell is an object as its event type's schema has it", async () => {
  const rows = await world.store.db.selectFrom('events').select(['type', 'data']).execute()
  for (const { type, data } of rows) {
    const { object } = JSON.parse(data)
    faults.push(...faultsOf(kindOfEvent(type)!.object, object).map(fault => `${type}: ${fault}`))
  }
  assert.ok(rows.length > 50, `only ${rows.length}`)
  none()
})

test.after(world.close)
test.run()
