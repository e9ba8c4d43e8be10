import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeWholeApp } from '../whole-app.ts'

/** They wait for the ends of streams, which are looked for now and then. */
const test = suite('control/partners/streams', { together: true })
const app = await makeWholeApp()
const base = await app.app.listen({ port: 0, host: '127.0.0.1' })
test.after(() => app.close())

/** Follows a live stream; `ended` resolves when the server has ended it. */
async function follow(path: string, key: string, within: object = {}) {
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream', ...within }
  const answer = await fetch(`${base}/v1${path}`, { headers })
  assert.is(answer.status, 200)
  const reader = answer.body!.getReader()
  await reader.read()
  const ended = async (): Promise<void> => {
    while (!(await reader.read()).done) {}
  }
  return { ended: ended(), cut: () => reader.cancel() }
}

test('a suspension ends the streams of the organisation: of events, and of what is followed live', async () => {
  const { id } = (await app.live('POST /v1/partner/organisations', { name: 'Client' })).body
  const { secret } = (await app.live(`POST /v1/partner/organisations/${id}/api_keys`, {})).body
  const { body: queue } = await app.live('POST /v1/queues', { name: 'Help' }, { key: secret })
  const paths = ['/events/stream', `/queues/${queue.id}/stats`]
  const streams = await Promise.all(paths.map(path => follow(path, secret)))
  const own = await follow('/events/stream', app.ours.keys.live)
  await app.live(`POST /v1/partner/organisations/${id}/suspend`)
  await Promise.all(streams.map(({ ended }) => ended))
  const refused = await fetch(`${base}/v1/events/stream`, { headers: { authorization: `Bearer ${secret}` } })
  assert.is(refused.status, 403)
  let isOver = false
  void own.ended.then(() => (isOver = true))
  await app.store.followUps.idle()
  assert.not(isOver, 'the partner goes on')
  await own.cut()
})

test('an organisation that is handed over is followed by its partner no longer, who goes on with its own', async () => {
  const { id } = (await app.live('POST /v1/partner/organisations', { name: 'Client' })).body
  const within = { 'service-account': id }
  const key = app.ours.keys.live
  const { body: queue } = await app.live('POST /v1/queues', { name: 'Help' }, { headers: within })
  const { body: own } = await app.live('POST /v1/queues', { name: 'Own' })
  const theirs = await follow(`/queues/${queue.id}/stats`, key, within)
  const ours = await follow(`/queues/${own.id}/stats`, key)
  await app.live(`POST /v1/partner/organisations/${id}/hand_over`)
  await theirs.ended
  let isOver = false
  void ours.ended.then(() => (isOver = true))
  await app.store.followUps.idle()
  assert.not(isOver)
  await ours.cut()
})

test('a key that is revoked has its streams ended', async () => {
  const { id, secret } = (await app.live('POST /v1/api_keys', {})).body
  const { ended } = await follow('/events/stream', secret)
  await app.live(`DELETE /v1/api_keys/${id}`)
  await ended
})

test.run()
