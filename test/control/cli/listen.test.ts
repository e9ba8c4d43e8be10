import * as assert from 'uvu/assert'
import { followEvents } from '../../../control/cli/event-feed.ts'
import { suite } from '../../harness.ts'
import { makeCliWorld, makeNetwork, makeReceiver } from './cli-world.ts'

const test = suite('control/cli/listen')
const world = await makeCliWorld()
const { app, start, tandem, url, env } = world
const receiver = await makeReceiver()
const forward = `--forward-to ${receiver.url}`
test.after(async () => {
  await receiver.close()
  await world.close()
})

const happen = async (type: string): Promise<string> =>
  (await app.test('POST /v1/test_helpers/events', { type })).body.id

test('events are shown and delivered to a local address, signed as the official library verifies, though the connection is cut', async () => {
  const network = await makeNetwork(Number(new URL(url).port))
  const listening = start(`listen --events call.*,flow.published ${forward}`, { TANDEM_API_URL: network.url })
  receiver.it.secret = await listening.prints(/signed with (whsec_\S+)/)
  await listening.prints(/Listening for call\.\*,flow\.published of http\S+ until/)
  const sent = [await happen('call.created')]
  await receiver.has(1)
  // In the middle of an event: it comes whole with the next connection, and once.
  network.it.cutAfter = 200
  sent.push(await happen('call.answered'))
  await listening.prints(/The connection is lost/)
  network.cut()
  sent.push(await happen('call.dtmf'), await happen('flow.published'))
  await happen('callback.created')
  network.it.cutAfter = Number.POSITIVE_INFINITY
  await receiver.has(4)
  network.cut()
  sent.push(await happen('call.ended'))
  await receiver.has(5)
  await listening.prints(new RegExp(`${sent[4]}  200 `))
  assert.is(await listening.stop(), 0)
  assert.equal(
    receiver.events.map(({ id }) => id),
    sent,
  )
  assert.is(receiver.it.refused, 0)
  assert.ok(network.it.connections >= 3)
  assert.equal(
    [...listening.out.matchAll(/evt_\w+ {2}(\S+)/g)].map(([, type]) => type),
    ['call.created', 'call.answered', 'call.dtmf', 'flow.published', 'call.ended'],
  )
  await network.close()
})

test('a receiver that is down or refuses is told of, and resend delivers once more with the same secret', async () => {
  const listening = start(`listen ${forward} --json`)
  assert.is(await listening.prints(/signed with (whsec_\S+)/), receiver.it.secret)
  await listening.prints(/Listening for all events/)
  receiver.it.status = 500
  const id = await happen('call.ended')
  assert.is(await listening.prints(/again: (tandem resend .*)/), `tandem resend ${id} ${forward}`)
  assert.match(listening.err, `${id}  500 (`)
  assert.is(JSON.parse(listening.out).id, id)
  await listening.stop()
  receiver.it.status = 204
  const before = receiver.events.length
  const again = await tandem(`resend ${id} ${forward}`)
  assert.equal([again.code, receiver.events.slice(before).map(event => event.id)], [0, [id]])
  assert.match(again.err, `${id}  204 (`)
  const away = await makeReceiver()
  await away.close()
  const down = await tandem(`resend ${id} --forward-to ${away.url}`)
  assert.is(down.code, 1)
  assert.match(down.err, /not delivered to .*ECONNREFUSED.*; again: tandem resend/)
  assert.match((await tandem(`resend evt_none ${forward}`)).err, 'evt_none')
})

test('listen goes on behind an event that is named, and trigger makes samples happen in test mode alone', async () => {
  const first = await happen('call.created')
  const made = await tandem('trigger call.ended call.dtmf')
  assert.is(made.code, 0)
  const ids = [...made.out.matchAll(/^(evt_\w+) {2}(?:call.ended|call.dtmf)$/gm)].map(([, id]) => id)
  assert.is(ids.length, 2)
  const listening = start(`listen --from ${first}`)
  await listening.prints(/call\.dtmf/)
  await listening.stop()
  assert.equal([...listening.out.matchAll(/evt_\w+/g)].map(String), ids)
  const live = await tandem('trigger call.ended', { TANDEM_API_KEY: app.ours.keys.live })
  assert.is(live.code, 1)
  assert.match(live.err, 'use a test key (sk_test_…)')
  assert.match((await tandem('trigger call.endet')).err, /There is no event "call.endet"; there are .*call\.ended/)
})

test('a listener that cannot begin says what to change', async () => {
  const says = async (line: string, more: Record<string, string> = {}): Promise<string> => {
    const { code, err } = await tandem(line, more)
    assert.is(code, 1)
    assert.is(err.trimEnd().split('\n').length, 1, err)
    return err
  }
  assert.match(await says('listen --events call.endet'), 'Did you mean call.ended?')
  assert.match(
    await says('listen', { TANDEM_API_KEY: 'sk_test_wrong' }),
    /api_key_invalid: is the key of TANDEM_API_KEY/,
  )
  assert.match(await says('listen', { TANDEM_API_URL: 'http://127.0.0.1:1' }), /cannot be reached at .*ECONNREFUSED/)
  assert.match(await says('listen', { TANDEM_API_URL: 'localhost' }), 'is no http or https address')
  assert.match(await says('listen --forward-to 3000'), 'such as http://localhost:3000/hooks')
  assert.match(await says('listen --from evt_none'), 'Last-Event-ID')
  assert.match(await says('listen --event call.ended'), 'There is no --event here')
  assert.match(await says('listen', { TANDEM_API_KEY: '' }), 'tandem profile add')
})

test('a server that says nothing any more is left, and the next connection goes on', async () => {
  const stop = new AbortController()
  const lost: string[] = []
  const listener = {
    ready: () => {},
    event: async () => {},
    lost: (why: string) => {
      lost.push(why)
      if (lost.length === 2) stop.abort()
    },
  }
  const account = { url, key: env.TANDEM_API_KEY, from: 'the test' }
  assert.is(await followEvents(account, { silentMs: 500, firstWaitMs: 1 }, listener, stop.signal), null)
  assert.match(lost[0]!, 'nothing was received')
})

test.run()
