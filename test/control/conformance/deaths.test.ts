import * as assert from 'uvu/assert'
import { canonicalJson, releaseInterruptedAttempts } from '../../../control/http/idempotency.ts'
import type { Route } from '../../../control/http/route.ts'
import { takesIdempotencyKey } from '../../../control/http/wire/openapi.ts'
import { input } from '../../../control/kernel/schema.ts'
import type { Store } from '../../../control/kernel/store/store.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import type { CommandName, Failure } from '../../../media/protocol.ts'
import { willingMedia } from '../../fakes/media-port.ts'
import { suite } from '../../harness.ts'
import { type Answer, ask, serve } from '../app-harness.ts'
import { APP_CONFIG } from '../whole-app.ts'
import { type Ids, idsFor, type Maker, makeCall, makerOf } from './objects.ts'
import { makeProduct, productRoutes, UNLIMITED } from './product.ts'
import { bodyFor, lineOf, prepare } from './requests.ts'
import { allRows, changedTables, rowsReader } from './rows.ts'
import type { Shape } from './shapes.ts'
import { faultsOf } from './strict.ts'

const test = suite('control/conformance/deaths')

/** Where a process dies: right after its first commit, or when all is done but the answer. */
type Place = 'commit' | 'answer'

/** Commands that change nothing the second time. The others must not be sent twice for one key. */
const REPEATABLE: CommandName[] = [
  'leg.read',
  'stream.read',
  'leg.hangup',
  'leg.trace_packets',
  'room.close',
  'stream.stop',
  'capture.pause',
  'capture.resume',
  'recording.pause',
  'recording.resume',
  'recording.stop',
  'transcript.stop',
]

const NEVER = new Promise<never>(() => {})
/** Where the request that is under way dies; null: it lives. */
let place: Place | null = null
let died: (result: unknown) => void = () => {}
const dieAt = (here: Place, result: unknown): unknown => {
  if (place !== here) return result
  place = null
  died(result)
  return NEVER
}

const sent: CommandName[] = []
/** Replies of media that replace the usual ones, by command. */
const refusals = new Map<CommandName, Failure>()
const willing = willingMedia()
const media = {
  ...willing,
  request: (async (name, body) => {
    sent.push(name)
    return refusals.get(name) ?? willing.request(name, body)
  }) as typeof willing.request,
}

const world = await makeProduct()
const { store } = world
const mortal: Store = {
  ...store,
  transaction: async (...asked) => dieAt('commit', await store.transaction(...asked)) as never,
}
const parts = { media, config: { ...APP_CONFIG, dataDir: world.dataDir } }
const dying = await serve(
  { ...world, store: mortal },
  productRoutes({ ...world, store: mortal }, parts as never).map(route => ({
    ...route,
    handler: async (context, request) => dieAt('answer', await route.handler(context, request)),
  })),
  UNLIMITED,
)
const next = await serve(world, productRoutes(world, parts as never), UNLIMITED)

const live = makerOf(world)
const inTest = makerOf(world, 'ours', false)
for (const maker of [live, inTest]) await prepare(maker)
const rows = await rowsReader(store)

interface Request {
  line: string
  asked: { key: string; body: object; headers: Record<string, string> }
}

let serial = 0

function requestOf(route: Route, maker: Maker, ids: Ids, body: object): Request {
  const { live: liveKey, test: testKey } = world.ours.keys
  const key = maker === live ? liveKey : testKey
  return { line: lineOf(route, ids), asked: { key, body, headers: { 'idempotency-key': `key ${++serial}` } } }
}

async function goodRequest(route: Route): Promise<Request> {
  const maker = route.mode === 'test' ? inTest : live
  const ids = await idsFor(route.path, maker, route.method)
  return requestOf(route, maker, ids, await bodyFor(route.id, (route.body ?? input({})) as Shape, maker))
}

/** The answer; or that the process died, with what it was about to say, and that the next one has started. */
async function askAndDie({ line, asked }: Request, at: Place): Promise<{ answer: Answer } | { result: unknown }> {
  const death = new Promise<{ result: unknown }>(resolve => {
    died = result => resolve({ result })
  })
  place = at
  const outcome = await Promise.race([death, ask(dying, line, asked).then(answer => ({ answer }))])
  place = null
  if ('result' in outcome) await releaseInterruptedAttempts(store)
  return outcome
}

const faults: string[] = []
/** Operations that had written something when they died. */
const wrote = new Set<string>()

async function dieAndRetry(route: Route, at: Place): Promise<void> {
  const says = (fault: string): void => void faults.push(`${route.method} ${route.path}, dead at its ${at}: ${fault}`)
  const request = await goodRequest(route)
  const before = await rows()
  const outcome = await askAndDie(request, at)
  // It commits nothing: there is no such place.
  if ('answer' in outcome) return at === 'commit' ? undefined : says(`lives: ${outcome.answer.text}`)
  const dead = await rows()
  if (changedTables(before, dead).some(table => table !== 'idempotency_keys')) wrote.add(route.id)
  sent.length = 0
  const retry = await ask(next, request.line, request.asked)
  if (retry.status !== route.status) return says(`a retry answers ${retry.status} ${retry.text}`)
  for (const fault of faultsOf(route.reply, retry.body)) says(fault)
  if (at === 'answer') {
    const [got, due] = [canonicalJson(retry.body), canonicalJson(outcome.result)]
    if (got !== due) says(`a retry answers ${got}, not ${due}`)
  }
  const tables = changedTables(dead, await rows()).filter(table => table !== 'idempotency_keys')
  if (tables.length > 0) says(`a retry has changed ${tables}`)
  const twice = sent.filter(name => !REPEATABLE.includes(name))
  if (twice.length > 0) says(`a retry has sent ${twice}`)
  const again = await ask(next, request.line, request.asked)
  if (again.text !== retry.text || again.headers['idempotent-replayed'] !== 'true') says('is forgotten after the retry')
}

const keyed = world.routes.filter(takesIdempotencyKey)
for (const at of ['commit', 'answer'] as const) {
  for (const tag of new Set(keyed.map(route => route.tag))) {
    test(`${tag}: a process that dies at its ${at} has acted once: a retry with the same Idempotency-Key gets the answer, and changes nothing`, async () => {
      for (const route of keyed.filter(route => route.tag === tag)) await dieAndRetry(route, at)
      assert.equal(faults.splice(0), [])
    })
  }
}

test('these operations had written something when they died', () => {
  assert.ok(wrote.size > keyed.length * 0.75, `${wrote.size} of ${keyed.length}`)
})

test('every change of a row was seen', async () => {
  assert.equal(changedTables(await allRows(store), await rows()), [])
})

test('what media had done when the process died is answered as done, to who asks again with the same key only', async () => {
  const room = await idsFor('/conference_rooms/:id', live)
  const inRoom = { ...room, participant_id: (await makeCall(live, { roomId: room.id ?? '' })).participant_id ?? '' }
  const scoped = forTenant(store.db, live.tenant)
  const over = '2026-11-21T10:00:01.000Z'
  const conflict: Failure = { failure: 'conflict', message: 'so it is' }
  const cases: { operation: string; ids: Ids; body?: object; happens(ids: Ids): Promise<unknown> | unknown }[] = [
    {
      operation: 'hangUpCall',
      ids: await makeCall(live),
      happens: ({ id = '' }) => scoped.update('calls').set({ ended_at: over }).where('id', '=', id).execute(),
    },
    {
      operation: 'removeConferenceParticipant',
      ids: inRoom,
      happens: ({ participant_id = '' }) =>
        scoped.update('participants').set({ left_at: over }).where('id', '=', participant_id).execute(),
    },
    {
      operation: 'stopStream',
      ids: await idsFor('/calls/:id/streams/:stream_id', live),
      happens: ({ stream_id = '' }) =>
        scoped
          .update('media_streams')
          .set({ status: 'stopped', ended_reason: 'stopped' })
          .where('id', '=', stream_id)
          .execute(),
    },
    {
      operation: 'setCallPci',
      ids: await makeCall(live),
      body: { action: 'pause' },
      happens: () => refusals.set('capture.pause', conflict),
    },
  ]
  for (const { operation, ids, body = {}, happens } of cases) {
    const route = world.routes.find(({ id }) => id === operation)
    assert.ok(route, operation)
    const request = requestOf(route, live, ids, body)
    // Before anything is committed, as when media has the command and nobody is there to hear of it.
    await store.db.deleteFrom('idempotency_keys').execute()
    const unheard = await askAndDie(request, 'answer')
    assert.ok('result' in unheard, operation)
    await store.db.updateTable('idempotency_keys').set({ status: null, body: null }).execute()
    await happens(ids)
    const stranger = requestOf(route, live, ids, body)
    assert.is((await ask(next, stranger.line, stranger.asked)).status, 409, operation)
    const retry = await ask(next, request.line, request.asked)
    assert.is(retry.status, 200, `${operation}: ${retry.text}`)
  }
})

test.after(async () => {
  // The requests that died never end, and neither would `dying.close`.
  await next.close()
  await world.close()
})
test.run()
