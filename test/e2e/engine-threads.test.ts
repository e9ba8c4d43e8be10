import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import { Product } from '../../bench/product.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { suite } from '../harness.ts'
import { curtain, HEARD_DBOV } from './scene.ts'

const test = suite('e2e/engine-threads')
const LIMIT = { timeoutMs: 60_000 }
const CLI = fileURLToPath(new URL('../../dist/control/wiring/cli.js', import.meta.url))
const TONE_HZ = 440
/** Placed one after the other, the calls are on both threads, since each goes to the less loaded one. */
const CALLS = 6

let product: Product
test.before(async () => {
  product = await Product.start({ env: { TANDEM_ENGINE_THREADS: '2' } })
})
test.after(() => curtain(product))

/** Places unrelated calls with this API key, and leads them into one room. @returns how many of the others hear the first one */
async function meetInRoom(key: string): Promise<number> {
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await product.api(method, path, body, { key })
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { id: roomId } = await ask('POST', '/conference_rooms', { name: 'Meet', settings: { announce: false } })
  const phones = await Promise.all(Array.from({ length: CALLS }, (_, i) => Phone.open(`one${i}`)))
  const placed = []
  for (const phone of phones) {
    const { id } = await ask('POST', '/calls', { to: phone.uri })
    const call = await phone.next()
    call.answer()
    placed.push({ id, call })
  }
  for (const { id } of placed) {
    await product.until('it is answered', async () =>
      (await ask('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
    )
    await ask('POST', `/calls/${id}/transfer`, { type: 'blind', room_id: roomId })
  }
  await product.until('all are in the room', async () =>
    (await ask('GET', `/conference_rooms/${roomId}`)).live.participants === CALLS ? true : null,
  )
  for (const { id } of placed) assert.is((await ask('GET', `/calls/${id}`)).status, 'in_progress')
  placed[0]!.call.say(tone(TONE_HZ))
  let heard = 0
  for (const { call } of placed.slice(1)) {
    let level = -100
    for (let tries = 0; tries < 20 && level < HEARD_DBOV; tries++) {
      level = levelAt(TONE_HZ, await call.heard.next(500))
    }
    if (level > HEARD_DBOV) heard++
  }
  await Promise.all(phones.map(phone => phone.close()))
  return heard
}

test(
  'with two engine threads, any calls of an organisation can be led into one room, and hear each other',
  async () => {
    assert.is(await meetInRoom(product.liveKey), CALLS - 1)
  },
  LIMIT,
)

test(
  'so can those of a second organisation',
  async () => {
    const said = execFileSync(process.execPath, [CLI, 'org', 'add', 'Second'], { env: product.env, encoding: 'utf8' })
    const [key] = /sk_live_[\w-]+/.exec(said) ?? []
    assert.ok(key, said)
    assert.is(await meetInRoom(key), CALLS - 1)
  },
  LIMIT,
)

test(
  'a caller for whom the thread of its room has no port left is taken by another thread, and hears the room',
  async () => {
    // Each of the two has two ports, a pair of which is for one leg.
    const first = 9000 + 8 * randomInt(0, 100)
    const ports = `${first}-${first + 7}`
    const small = await Product.start({ env: { TANDEM_ENGINE_THREADS: '2', TANDEM_RTP_PORTS: ports } })
    const phones = await Promise.all(Array.from({ length: 5 }, (_, i) => Phone.open(`few${i}`)))
    const [one, second, third, fourth, fifth] = phones as [Phone, Phone, Phone, Phone, Phone]
    const said = await one.call('1001', small.sip)
    for (const phone of [second, third]) await phone.call('1001', small.sip)
    const heard = await fourth.call('1001', small.sip)
    said.say(tone(TONE_HZ))
    let level = -100
    for (let tries = 0; tries < 20 && level < HEARD_DBOV; tries++) {
      level = levelAt(TONE_HZ, await heard.heard.next(500))
    }
    assert.ok(level > HEARD_DBOV, `${level} dBov`)
    assert.is((await (await fifth.dial('1001', small.sip)).outcome).status, 503)
    await Promise.all(phones.map(phone => phone.close()))
    await small.stop()
  },
  LIMIT,
)

test.run()
