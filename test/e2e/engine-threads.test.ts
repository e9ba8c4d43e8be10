import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import { Product } from '../../bench/product.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { tone } from '../../bench/voices.ts'
import { readWav } from '../../codecs/wav.ts'
import { partialDir } from '../../media/recordings/recording-manifest.ts'
import { suite } from '../harness.ts'
import { callFrom, curtain, endedCall, HEARD_DBOV, newRoom } from './scene.ts'

const test = suite('e2e/engine-threads')
const LIMIT = { timeoutMs: 60_000 }
const CLI = fileURLToPath(new URL('../../dist/control/wiring/cli.js', import.meta.url))
const MORTAL = fileURLToPath(new URL('mortal-threads.cjs', import.meta.url))
const SLOW_LOAD = fileURLToPath(new URL('slow-load.cjs', import.meta.url))
const TONE_HZ = 440
const OTHER_HZ = 1000
/** Placed one after the other, the calls are on both threads, since each goes to the less loaded one. */
const CALLS = 6

const optionsOf = (...more: string[]): string => [process.env.TANDEM_TEST_NODE_OPTIONS ?? '', ...more].join(' ')

let product: Product
let small: Product | undefined
let mortal: Product | undefined
test.before(async () => {
  product = await Product.start({ env: { TANDEM_ENGINE_THREADS: '2' } })
})
test.after(async () => {
  await curtain(product)
  for (const one of [small, mortal]) await one?.stop()
})

/** Two threads, each with two ports, a pair of which is for one leg. */
async function smallOne(): Promise<Product> {
  const first = 9000 + 8 * randomInt(0, 100)
  const env = { TANDEM_ENGINE_THREADS: '2', TANDEM_RTP_PORTS: `${first}-${first + 7}` }
  small ??= await Product.start({ env: { ...env, NODE_OPTIONS: optionsOf(`--require=${SLOW_LOAD}`) } })
  return small
}

/** Its threads die by `mortal-threads.cjs`, and soon if they keep much. Each of the two has four ports for legs. */
async function mortalOne(): Promise<Product> {
  const first = 9800 + 16 * randomInt(0, 12)
  const NODE_OPTIONS = optionsOf('--max-old-space-size=200', `--require=${MORTAL}`)
  const env = { NODE_OPTIONS, TANDEM_ENGINE_THREADS: '2', TANDEM_RTP_PORTS: `${first}-${first + 15}` }
  mortal ??= await Product.start({ env })
  return mortal
}

/** Hangs up all phones, for the next test. */
async function leaveAll(of: Product): Promise<void> {
  await Phone.closeAll()
  await of.until('its calls are over', async () => ((await legsOf(of)).some(legs => legs > 0) ? null : true))
}

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
  'a media process that takes seconds to load becomes ready all the same',
  async () => assert.is((await fetch(`${(await smallOne()).baseUrl}/readyz`)).status, 200),
  LIMIT,
)

test(
  'a caller for whom the thread of its room has no port left is taken by another thread, and hears the room',
  async () => {
    const small = await smallOne()
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
    await leaveAll(small)
  },
  LIMIT,
)

test(
  'a caller who hangs up first: `call.ended` has the figures also of a leg on the other engine thread',
  async () => {
    // One thread is full when the caller is sent on.
    const small = await smallOne()
    const phones = await Promise.all(['gone', 'stays', 'beside', 'hasty', 'outside'].map(name => Phone.open(name)))
    const [gone, stays, beside, hasty, outside] = phones as [Phone, Phone, Phone, Phone, Phone]
    const [host = '', port = ''] = outside.uri.replace(/^sip:[^@]*@/, '').split(':')
    await small.ok('POST', '/connections', { name: 'Outside', kind: 'trunk', host, port: Number(port) })
    const { id: queueId } = await small.ok('POST', '/queues', { name: 'Hasty' })
    await small.ok('POST', '/inbound_routes', { match: { to: '4001' }, target: { type: 'queue', id: queueId } })
    const goes = await gone.call('1001', small.sip)
    await stays.call('1001', small.sip)
    await beside.call('1001', small.sip)
    const call = await hasty.call('4001', small.sip)
    const { id } = await callFrom(small, 'hasty')
    await goes.hangup()
    await small.until('its leg is over', async () => (sum(await legsOf(small)) === 3 ? true : null))
    const threads = await legsOf(small)
    await small.ok('POST', `/calls/${id}/transfer`, { type: 'blind', to: '+14155550143' })
    const answering = await outside.next()
    answering.answer()
    answering.say(tone(TONE_HZ))
    await hears(call, TONE_HZ)
    await call.heard.next(500)
    assert.equal(
      [threads.sort(), await legsOf(small)],
      [
        [1, 2],
        [2, 2],
      ],
    )
    await call.hangup()
    await endedCall(small, id)
    const ended = (await small.all(`/calls/${id}/events`)).find(({ type }) => type === 'call.ended')
    const { quality } = await small.ok('GET', `/calls/${id}`)
    const idsOf = (legs: { participant_id: string }[]): string[] => legs.map(leg => leg.participant_id)
    assert.is(quality.length, 2)
    assert.equal(idsOf(ended.data.object.quality), idsOf(quality))
    for (const { packets_received: received } of ended.data.object.quality) assert.ok(received > 20, `${received}`)
    await leaveAll(small)
  },
  LIMIT,
)

const hears = (call: PhoneCall, hz: number): Promise<true> =>
  product.until(`${hz} Hz is heard`, async () => (levelAt(hz, await call.heard.next(200)) > HEARD_DBOV ? true : null))

/** Legs by engine thread. */
async function legsOf(mortal: Product): Promise<number[]> {
  const text = await (await fetch(`${mortal.baseUrl}/metrics`)).text()
  return [...text.matchAll(/^tandem_media_thread_legs\{thread="\d+"\} (\d+)$/gm)].map(([, legs]) => Number(legs))
}

/** Counters of media that all threads share. */
async function countersOf(mortal: Product): Promise<Map<string, number>> {
  const text = await (await fetch(`${mortal.baseUrl}/metrics`)).text()
  return new Map(
    [...text.matchAll(/^(tandem_media_\w+_(?:total|count)) (\S+)$/gm)].map(([, name, n]) => [name!, Number(n)]),
  )
}

const sum = (numbers: number[]): number => numbers.reduce((all, one) => all + one, 0)

/** Two phones in a recorded room of this thread, the first of which says this tone. */
async function pairOn(thread: number, mortal: Product, hz: number) {
  const all = sum(await legsOf(mortal))
  const elsewhere: Phone[] = []
  for (let attempt = 0; attempt < 4; attempt++) {
    const before = await legsOf(mortal)
    const room = await newRoom(mortal, {}, { record: true })
    const names = ['one', 'two'].map(name => `${name}-${room.number}`)
    const phones = await Promise.all(names.map(name => Phone.open(name)))
    const [said, heard] = [
      await phones[0]!.call(room.number, mortal.sip),
      await phones[1]!.call(room.number, mortal.sip),
    ]
    said.say(tone(hz))
    await hears(heard, hz)
    const callIds: string[] = await Promise.all(names.map(async name => (await callFrom(mortal, name)).id))
    const { id: sessionId } = (await mortal.all('/calls')).find(
      ({ kind, room_id }) => kind === 'conference' && room_id === room.roomId,
    )!
    if ((await legsOf(mortal))[thread]! - before[thread]! === 2) {
      await Promise.all(elsewhere.map(phone => phone.close()))
      await mortal.until('the others have left', async () => (sum(await legsOf(mortal)) === all + 2 ? true : null))
      return { said, heard, callIds, sessionId: sessionId as string }
    }
    // These stay until the other thread is full: then the next room is on this one.
    elsewhere.push(...phones)
  }
  throw new Error(`no room is on thread ${thread}`)
}

test(
  'an engine thread that dies ends its own calls, whose recordings are kept; those of others go on, and the next calls get its ports',
  async () => {
    const mortal = await mortalOne()
    const { media } = mortal.pids
    const theirs = await pairOn(0, mortal, TONE_HZ)
    const others = await pairOn(1, mortal, OTHER_HZ)
    const begun = partialDir(mortal.dataDir, theirs.sessionId)
    await mortal.until('half a second of it is on disk', async () =>
      sum(readdirSync(begun).map(name => statSync(join(begun, name)).size)) > 16_000 ? true : null,
    )
    process.kill(media, 'SIGUSR2')
    await Promise.all([theirs.said.ended, theirs.heard.ended, hears(others.heard, OTHER_HZ)])
    for (const id of theirs.callIds) assert.is((await endedCall(mortal, id)).ended_reason, 'media_failed')
    assert.is((await endedCall(mortal, theirs.sessionId)).status, 'completed')
    const recording = await mortal.until('its recording is ready', async () => {
      const found = await mortal.ok('GET', `/calls/${theirs.sessionId}/recording`)
      return found.status === 'recording' ? null : found
    })
    assert.is(recording.status, 'ready')
    const wav = readWav(await mortal.download(`/calls/${theirs.sessionId}/recording/content`))
    if ('error' in wav) throw new Error(wav.error)
    // On a busy machine packets are late, and the tone goes on in another phase: parts of 200 ms have a single one.
    const parts = wav.samples.flatMap(channel =>
      Array.from({ length: Math.floor(channel.length / 1600) }, (_, n) => channel.subarray(n * 1600, (n + 1) * 1600)),
    )
    const levels = parts.map(part => Math.round(levelAt(TONE_HZ, part)))
    assert.ok(Math.max(...levels) > HEARD_DBOV, levels.join())

    const next = await pairOn(0, mortal, TONE_HZ)
    const full = await newRoom(mortal)
    for (let left = 8 - sum(await legsOf(mortal)); left > 0; left--) {
      await (await Phone.open(`last-${left}`)).call(full.number, mortal.sip)
    }
    assert.equal(await legsOf(mortal), [4, 4])
    await hears(next.heard, TONE_HZ)
    assert.is((await mortal.ok('GET', `/calls/${others.sessionId}`)).ended_at, null)
    assert.is((await mortal.ok('GET', `/calls/${others.sessionId}/recording`)).status, 'recording')
    await hears(others.heard, OTHER_HZ)
    assert.is(mortal.pids.media, media)
    await leaveAll(mortal)
  },
  LIMIT,
)

test(
  'so does one with an exception that nobody catches, and one that has no memory left; what it has counted remains in the metrics',
  async () => {
    const mortal = await mortalOne()
    const { media } = mortal.pids
    for (const signal of ['SIGURG', 'SIGWINCH'] as const) {
      const pair = await pairOn(0, mortal, TONE_HZ)
      const before = await countersOf(mortal)
      process.kill(media, signal)
      await Promise.all([pair.said.ended, pair.heard.ended])
      await mortal.until('its calls are over', async () => ((await legsOf(mortal))[0] === 0 ? true : null))
      // Collectors take a smaller one for a restart of the process, and count what is left of it again.
      const after = await countersOf(mortal)
      assert.ok(before.get('tandem_media_clock_slots_total')! > 0)
      assert.equal(
        [...before].filter(([name, count]) => after.get(name)! < count),
        [],
      )
    }
    assert.is(mortal.pids.media, media)
    await leaveAll(mortal)
  },
  LIMIT,
)

test.run()
