import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as assert from 'uvu/assert'
import { freePort } from '../../bench/free-port.ts'
import { Phone } from '../../bench/phone/phone.ts'
import { Product } from '../../bench/product.ts'
import { missingPrograms, suite } from '../harness.ts'
import { curtain } from './scene.ts'

let product: Product

const WAITING = { timeoutMs: 60_000, together: true }

const test = suite('e2e/sandbox')

test.before(async () => {
  product = await Product.start()
})
test.after(() => curtain(product))

/** A request with the test key. */
async function ask(method: string, path: string, body?: object) {
  const response = await fetch(`${product.baseUrl}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${product.testKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  return { status: response.status, body: (await response.json()) as any }
}

const call = async (to: string, more: object = {}): Promise<string> => {
  const made = await ask('POST', '/calls', { to, ...more })
  assert.is(made.status, 201, JSON.stringify(made.body))
  return made.body.id
}

const reaches = (id: string, status: string) =>
  product.until(`${id} is ${status}`, async () => {
    const { body } = await ask('GET', `/calls/${id}`)
    return body.status === status ? body : null
  })

test(
  '+15005550001 is busy, +15005550002 does not answer, +15005550003 rejects',
  async () => {
    const [busy, silent, rejecting] = await Promise.all([
      call('+15005550001'),
      call('+15005550002', { timeout_s: 5 }),
      call('+15005550003'),
    ])
    assert.is((await reaches(busy, 'busy')).sip_code, 486)
    assert.is((await reaches(rejecting, 'failed')).ended_reason, 'rejected')
    const unanswered = await reaches(silent, 'no_answer')
    assert.is(unanswered.ended_reason, 'no_answer')
    assert.ok(unanswered.ringing_at, 'it rang meanwhile')
  },
  WAITING,
)

test(
  '+15005550005 hangs up after three seconds, +15005550006 and +15005550007 answer and stay',
  async () => {
    const [short, echo, speaking] = await Promise.all(['5', '6', '7'].map(last => call(`+1500555000${last}`)))
    await Promise.all([short, echo, speaking].map(id => reaches(id!, 'in_progress')))
    const ended = await reaches(short!, 'completed')
    assert.is(ended.ended_reason, 'caller_hangup')
    assert.ok(ended.duration_ms >= 2900 && ended.duration_ms < 6000, `${ended.duration_ms} ms`)
    for (const id of [echo, speaking]) {
      const { body } = await ask('GET', `/calls/${id}`)
      assert.is(body.status, 'in_progress')
      assert.ok(body.quality[0].packets_received > 50)
      assert.is((await ask('POST', `/calls/${id}/hangup`)).status, 200)
    }
  },
  WAITING,
)

test(
  '+15005550004 answers after ten seconds',
  async () => {
    const id = await call('+15005550004', { timeout_s: 20 })
    const { created, answered_at } = await reaches(id, 'in_progress')
    const waitedMs = Date.parse(answered_at) - Date.parse(created)
    assert.ok(waitedMs > 9000, `${waitedMs} ms`)
  },
  WAITING,
)

test(
  'a test call is transferred to a sandbox number, and overflows from a queue to one',
  async () => {
    const overflow = { action: 'number', number: '+15005550007' }
    const queue = await ask('POST', '/queues', { name: 'Support', max_wait_seconds: 1, overflow })
    const [transferred, queued] = await Promise.all([
      call('+15005550006'),
      call('+15005550006', { queue_id: queue.body.id }),
    ])
    await reaches(transferred, 'in_progress')
    assert.is((await ask('POST', `/calls/${transferred}/transfer`, { to: '+15005550007' })).status, 200)
    for (const id of [transferred, queued]) {
      await product.until('+15005550007 has answered', async () => {
        const { body } = await ask('GET', `/calls/${id}/participants`)
        const named = (one: { address: string }) => one.address === '+15005550007'
        return body.data.find(named)?.status === 'joined' ? body : null
      })
      assert.is((await ask('POST', `/calls/${id}/hangup`)).status, 200)
    }
  },
  WAITING,
)

test('a test key reaches nobody else, and nobody else reaches a sandbox number', async () => {
  const refused = await ask('POST', '/calls', { to: '+15550100100' })
  assert.is(refused.status, 400)
  assert.is(refused.body.error.param, 'to')
})

const missing = missingPrograms('bash', 'curl', 'jq')
const readmeTest = (sentence: string, run: () => unknown): void =>
  missing === null ? test(sentence, run, { timeoutMs: 90_000 }) : test.skip(sentence, missing)

readmeTest('the commands of README work as they stand there, one after the other, during a call', async () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const heard = join(folder, 'heard')
  const listen = `node dist/control/wiring/cli.js listen ${port} > ${heard} & LISTENER=$!
until grep -q Listening ${heard}; do sleep 0.1; done`
  const untilHeard = `until grep -q 'inbound: [0-9]* frames' ${heard}; do sleep 0.1; done; kill $LISTENER`
  const blocks = [...readme.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, block]) => block!)
  assert.ok(blocks.length >= 6, `only ${blocks.length} blocks`)
  const script = blocks
    .join('')
    .replaceAll('http://127.0.0.1:8080', product.baseUrl)
    .replace('sk_live_…', product.liveKey)
    .replace('npx tandem listen 9000 & sleep 3', listen)
    .replaceAll('npx tandem', 'node dist/control/wiring/cli.js')
    .replace('127.0.0.1:9000', `127.0.0.1:${port}`)
  // An ended call cannot be streamed, even if it is the latest one.
  const before = await Phone.open('before')
  const phone = await Phone.open('reader')
  await phone.call('1002', product.sip)
  await before.call('1002', product.sip)
  await before.close()
  await product.until('the later call is over', async () => {
    const [newest] = (await product.ok('GET', '/calls?limit=1')).data
    return newest.status === 'completed' ? newest : null
  })
  const env = { ...process.env, HOME: folder, TANDEM_API_URL: product.baseUrl }
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', `${script}${untilHeard}`], { env })
  const links = stdout.match(/^http.*$/gm) ?? []
  assert.is(links.length, 3, stdout)
  for (const link of links) assert.is((await fetch(link)).status, 200, link)
  await phone.call('1004', product.sip)
  const [waiting] = (await product.ok('GET', '/calls?limit=1')).data
  assert.match(waiting.to, 'sip:1004@')
  rmSync(folder, { recursive: true })
})

test.run()
