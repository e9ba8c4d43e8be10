import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import type { Product } from '../../../bench/product.ts'
import { makeReceiver, Running } from '../../control/cli/cli-world.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { killAndWait } from '../witness.ts'

const test = sharedSuite('e2e/deaths/listen')
const DEATHS = 3

/** Causes an event once, however often the request has to be repeated while control is down. */
async function happen(product: Product, number: number): Promise<string> {
  for (;;) {
    const answer = await fetch(`${product.baseUrl}/v1/test_helpers/events`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${product.testKey}`,
        'content-type': 'application/json',
        'idempotency-key': `event-${number}`,
      },
      body: JSON.stringify({ type: 'call.created' }),
    }).catch(() => null)
    if (answer?.ok) return ((await answer.json()) as { id: string }).id
    await sleep(50)
  }
}

test(
  '`tandem listen` loses no event and delivers none twice though control is killed again and again',
  async () => {
    const receiver = await makeReceiver()
    const env = { HOME: product.dataDir, TANDEM_API_URL: product.baseUrl, TANDEM_API_KEY: product.testKey }
    const listening = new Running(['listen', '--forward-to', receiver.url], env)
    receiver.it.secret = await listening.prints(/signed with (whsec_\S+)/)
    await listening.prints(/Listening for/)
    const sent: string[] = []
    for (let death = 0; death < DEATHS; death++) {
      sent.push(await happen(product, sent.length))
      const dying = killAndWait(product, 'control')
      // Some of them are written as control dies, and some are requested while it is down.
      for (let i = 0; i < 5; i++) sent.push(await happen(product, sent.length))
      await dying
      await product.ready()
    }
    sent.push(await happen(product, sent.length))
    await receiver.has(sent.length)
    await listening.prints(new RegExp(`${sent.at(-1)}  200 `))
    assert.is(await listening.stop(), 0)
    assert.equal(
      receiver.events.map(({ id }) => id),
      sent,
    )
    assert.is(receiver.it.refused, 0)
    assert.match(listening.err, 'The connection is lost')
    await receiver.close()
  },
  { timeoutMs: 120_000 },
)

test.run()
