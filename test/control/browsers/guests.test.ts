import * as assert from 'uvu/assert'
import {
  clientTokenKey,
  sweepTokens,
  useClientToken,
  verifyClientToken,
} from '../../../control/browsers/client-token.ts'
import { isProblem } from '../../../control/http/errors.ts'
import { suite } from '../../harness.ts'
import { START } from '../app-harness.ts'
import { makeWholeApp, VAULT, type WholeApp } from '../whole-app.ts'

const test = suite('control/browsers/guests')

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const after = (ms: number): string => new Date(START.getTime() + ms).toISOString()

/** What the link answers who fills in its form: the status, and the reason of a refusal. */
async function enter({ live }: WholeApp, joinUrl: string): Promise<[number, string | null]> {
  const { status, body } = await live(`POST ${new URL(joinUrl).pathname}`, { name: 'Eve' })
  return [status, body.error?.details?.reason ?? null]
}

test('a guest joins a scheduled room from 15 minutes before an occurrence until 2 hours after its end', async () => {
  const app = await makeWholeApp()
  const schedule = { start_at: after(HOUR_MS), end_at: after(2 * HOUR_MS) }
  const { join_url } = (await app.live('POST /v1/conference_rooms', { name: 'Board', schedule })).body
  app.clock.advance(45 * MINUTE_MS - 1)
  assert.equal(await enter(app, join_url), [409, 'not_open'])
  app.clock.advance(1)
  assert.equal(await enter(app, join_url), [201, null])
  app.clock.advance(75 * MINUTE_MS + 2 * HOUR_MS)
  assert.equal(await enter(app, join_url), [201, null], 'the last moment')
  app.clock.advance(1)
  assert.equal(await enter(app, join_url), [409, 'closed'], 'it opens never again')
  assert.match((await app.live(`GET ${new URL(join_url).pathname}`)).text, 'The room is closed.')
  const daily = { ...schedule, recurrence: 'daily' }
  const again = (await app.live('POST /v1/conference_rooms', { name: 'Board', schedule: daily })).body
  assert.equal(await enter(app, again.join_url), [409, 'not_open'])
  await app.close()
})

test('a room with active false cannot be joined by its link', async () => {
  const app = await makeWholeApp()
  const { id, join_url } = (await app.live('POST /v1/conference_rooms', { name: 'Board' })).body
  assert.equal(await enter(app, join_url), [201, null])
  await app.live(`PATCH /v1/conference_rooms/${id}`, { active: false })
  assert.equal(await enter(app, join_url), [409, 'closed'])
  await app.close()
})

test('creating a new guest link invalidates the previous one at once', async () => {
  const app = await makeWholeApp()
  const { id, join_url } = (await app.live('POST /v1/conference_rooms', { name: 'Board' })).body
  const next = (await app.live(`POST /v1/conference_rooms/${id}/links`)).body.join_url
  assert.is((await enter(app, join_url))[0], 404)
  assert.is((await app.live(`GET ${new URL(join_url).pathname}`)).status, 404)
  assert.equal(await enter(app, next), [201, null])
  await app.close()
})

test('who has filled in the form of the previous link, and has not connected yet, does not come in any more', async () => {
  const app = await makeWholeApp()
  const { store, clock } = app
  const { id, join_url } = (await app.live('POST /v1/conference_rooms', { name: 'Board' })).body
  const key = await clientTokenKey(store, VAULT)
  const come = async (link: string, between?: () => Promise<unknown>): Promise<string | null> => {
    const { client_token: token } = (await app.live(`POST ${new URL(link).pathname}`, { name: 'Eve' })).body
    await between?.()
    const claims = await verifyClientToken(key, { token, origin: null, use: 'call', now: clock.now() })
    const opened = isProblem(claims)
      ? claims
      : await useClientToken(store.db, claims, { origin: null, now: clock.now() })
    return isProblem(opened) ? opened.problem : null
  }
  assert.is(await come(join_url), null)
  let next = ''
  const replace = async () => {
    next = (await app.live(`POST /v1/conference_rooms/${id}/links`)).body.join_url
  }
  assert.is(await come(join_url, replace), 'client_token_invalid')
  assert.is(await come(next), null)
  await app.close()
})

test('whose token nobody has used is forgotten a day after it expired, also where no other one is made', async () => {
  const app = await makeWholeApp()
  const { clock, store } = app
  const { join_url } = (await app.live('POST /v1/conference_rooms', { name: 'Team' })).body
  assert.equal(await enter(app, join_url), [201, null])
  const left = async () => {
    const rows = (table: 'client_tokens' | 'browser_guests') => store.db.selectFrom(table).select('id').execute()
    return [(await rows('client_tokens')).length, (await rows('browser_guests')).length]
  }
  clock.advance(24 * HOUR_MS - 1)
  await sweepTokens(store, clock.now())
  assert.equal(await left(), [1, 1])
  clock.advance(6 * MINUTE_MS)
  await sweepTokens(store, clock.now())
  assert.equal(await left(), [0, 0])
  await app.close()
})

test('tokens and guests of a busy day are forgotten in pieces: calls have their turn between them', async () => {
  const app = await makeWholeApp()
  const { clock, store } = app
  const { join_url } = (await app.live('POST /v1/conference_rooms', { name: 'Team' })).body
  await enter(app, join_url)
  const [token, guest] = [store.db.selectFrom('client_tokens'), store.db.selectFrom('browser_guests')]
  const [one, other] = [
    await token.selectAll().executeTakeFirstOrThrow(),
    await guest.selectAll().executeTakeFirstOrThrow(),
  ]
  const later = (n: number) => new Date(clock.now().getTime() + n).toISOString()
  for (let n = 0; n < 500; n++) {
    await store.db
      .insertInto('client_tokens')
      .values({ ...one, id: `call_${n}`, expires_at: later(n) })
      .execute()
    await store.db
      .insertInto('browser_guests')
      .values({ ...other, id: `call_${n}`, created: later(n) })
      .execute()
  }
  clock.advance(48 * HOUR_MS)
  let [turns, isDone] = [0, false]
  const swept = sweepTokens(store, clock.now()).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await new Promise(resolve => setImmediate(resolve))
    turns++
  }
  await swept
  assert.equal([(await token.select('id').execute()).length, (await guest.select('id').execute()).length], [0, 0])
  assert.ok(turns >= 10, `${turns} turns`)
  await app.close()
})

test.run()
