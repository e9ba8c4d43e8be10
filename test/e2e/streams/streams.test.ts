// Judges timing: it compares audio sample by sample, and when it arrives.
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { untilQuiet } from '../../../bench/members.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { audioOf, type ReceivedStream, StreamReceiver, type StreamTrack } from '../../../bench/stream-receiver.ts'
import { tone } from '../../../bench/voices.ts'
import { makeCertificate } from '../../../media/webrtc/certificate.ts'
import { TwilioReceiver } from '../../fakes/twilio-receiver.ts'
import { type Behaviour, WsReceiver } from '../../fakes/ws-receiver.ts'
import { callsOf, HEARD_DBOV, keep, leave, newRoom, type Seated, seat, UNHEARD_DBOV } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const SLOW = { timeoutMs: 60_000 }
/** How much audio waits for a receiver that is gone: 2 s. */
const MAX_WAITING = 100
/** Frames that are on their way, or read but not yet reported, when the stall begins and ends. */
const IN_FLIGHT = 8
const TRACKS: StreamTrack[] = ['inbound', 'outbound']

const test = sharedSuite('e2e/streams/streams')
let receiver: StreamReceiver
let anna: Seated
let ben: Seated

test.before(async () => {
  receiver = keep(await StreamReceiver.listen())
  const room = await newRoom(product)
  anna = await seat(product, room, 'stream-a')
  ben = await seat(product, room, 'stream-b')
  await untilQuiet(callsOf([anna, ben]))
  anna.call.say(tone(330))
  ben.call.say(tone(440))
  await anna.call.heard.next(500)
})

const startStream = (callId: string, fields: object) => product.ok('POST', `/calls/${callId}/streams`, fields)
const streamOf = (callId: string, id: string) => product.ok('GET', `/calls/${callId}/streams/${id}`)
const stopStream = (callId: string, id: string) => product.ok('DELETE', `/calls/${callId}/streams/${id}`)

/** Asserts that every chunk of a track came, in order, from the first one on. */
function assertWhole(stream: ReceivedStream, track: StreamTrack): void {
  const wrong = stream.tracks[track].findIndex(({ chunk, timestamp }, i) => chunk !== i + 1 || timestamp % 20 !== 0)
  assert.is(wrong, -1, `${track}: chunk ${wrong + 1} is out of order`)
}

test(
  "a receiver written for Twilio's Media Streams works unchanged",
  async () => {
    const twilio = keep(await TwilioReceiver.listen())
    const ended = twilio.ended()
    const customParameters = { agent: 'seven', note: 'grüße' }
    const asked = { url: twilio.url, tracks: 'both', custom_parameters: customParameters }
    const { id } = await startStream(anna.callId, asked)
    await anna.call.heard.next(1300)
    await anna.call.press('5')
    await anna.call.heard.next(300)
    const stopped = await stopStream(anna.callId, id)
    await ended
    assert.is(stopped.status, 'stopped')
    assert.is(stopped.ended_reason, 'stopped')
    assert.equal(twilio.complaints, [])
    const [call] = twilio.calls
    assert.is(call!.streamSid, id)
    assert.is(call!.callSid, anna.callId)
    assert.equal(call!.customParameters, customParameters)
    assert.equal(call!.mediaFormat, { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 })
    assert.is(call!.digits, '5')
    assert.ok(call!.stopped)
    assert.is(call!.closeCode, 1000)
    for (const [track, own, other] of [
      ['inbound', 330, 440],
      ['outbound', 440, 330],
    ] as const) {
      const second = Int16Array.from(call!.audio[track]!.slice(10, 60).flatMap(frame => [...frame]))
      assert.ok(levelAt(own, second) > HEARD_DBOV && levelAt(other, second) < UNHEARD_DBOV, track)
    }
  },
  SLOW,
)

for (const [format, encoding, rateHz, bytes] of [
  ['mulaw_8000', 'audio/x-mulaw', 8000, 160],
  ['l16_8000', 'audio/x-l16', 8000, 320],
  ['l16_16000', 'audio/x-l16', 16_000, 640],
] as const) {
  test(
    `${format}: inbound is what the caller says, outbound what the caller hears, ${bytes} bytes every 20 ms`,
    async () => {
      const { id } = await startStream(anna.callId, { url: receiver.url, tracks: 'both', format })
      const stream = await receiver.stream(id)
      assert.is(stream.encoding, encoding)
      assert.is(stream.sampleRateHz, rateHz)
      const [inbound, outbound] = await Promise.all([
        receiver.frames(stream, 'inbound', 60),
        receiver.frames(stream, 'outbound', 60),
      ])
      for (const [frames, own, other] of [
        [inbound, 330, 440],
        [outbound, 440, 330],
      ] as const) {
        assert.ok(frames.every(({ payload }) => payload.length === bytes))
        const second = audioOf(stream, frames.slice(10))
        assert.is(second.length, rateHz)
        const [loud, quiet] = [own, other].map(hz => levelAt(hz, second, 0, rateHz, rateHz))
        assert.ok(loud! > HEARD_DBOV && quiet! < UNHEARD_DBOV, `${own} Hz at ${loud}, ${other} Hz at ${quiet} dBov`)
      }
      const stopped = await stopStream(anna.callId, id)
      await receiver.until(() => (stream.stopped ? true : undefined))
      assert.is(stopped.frames_sent, stream.tracks.inbound.length + stream.tracks.outbound.length)
      assert.is(stopped.frames_dropped, 0)
      for (const track of TRACKS) assertWhole(stream, track)
    },
    SLOW,
  )
}

for (const track of TRACKS) {
  test(`tracks "${track}" brings that one alone`, async () => {
    const { id } = await startStream(anna.callId, { url: receiver.url, tracks: track })
    const stream = await receiver.stream(id)
    await receiver.frames(stream, track, 10)
    await stopStream(anna.callId, id)
    for (const other of TRACKS) assert.is(stream.tracks[other].length === 0, other !== track)
  })
}

test(
  'the streams of a session: inbound is the mix of all participants, outbound what the room itself plays',
  async () => {
    const { id } = await startStream(anna.sessionId, { url: receiver.url, tracks: 'both' })
    const stream = await receiver.stream(id)
    const [inbound, outbound] = await Promise.all([
      receiver.frames(stream, 'inbound', 55),
      receiver.frames(stream, 'outbound', 55),
    ])
    const mix = audioOf(stream, inbound.slice(5))
    assert.ok(levelAt(330, mix) > HEARD_DBOV && levelAt(440, mix) > HEARD_DBOV)
    assert.ok(audioOf(stream, outbound).every(sample => sample === 0))
    await stopStream(anna.sessionId, id)
  },
  SLOW,
)

test(
  'a fifth track of one call is refused with 409, and a stopped one makes room',
  async () => {
    const ids: string[] = []
    for (let i = 0; i < 2; i++) ids.push((await startStream(anna.callId, { url: receiver.url, tracks: 'both' })).id)
    const refused = await product.api('POST', `/calls/${anna.callId}/streams`, { url: receiver.url })
    assert.is(refused.status, 409)
    assert.is(refused.body.error.code, 'resource_conflict')
    await stopStream(anna.callId, ids.pop()!)
    ids.push((await startStream(anna.callId, { url: receiver.url })).id)
    for (const id of ids) await stopStream(anna.callId, id)
    assert.is((await product.api('DELETE', `/calls/${anna.callId}/streams/${ids[0]}`)).status, 409)
  },
  SLOW,
)

for (const format of ['mulaw_8000', 'l16_16000'] as const) {
  test(
    `${format}: a receiver that stalls for 5 s loses exactly the frames older than 2 s on each track; nobody else moves by a frame`,
    async () => {
      const stalling = keep(await StreamReceiver.listen())
      const { id: healthyId } = await startStream(anna.callId, { url: receiver.url, tracks: 'both' })
      const { id } = await startStream(anna.callId, { url: stalling.url, tracks: 'both', format })
      const [healthy, stalled] = await Promise.all([receiver.stream(healthyId), stalling.stream(id)])
      await stalling.frames(stalled, 'inbound', 50)
      const heardBefore = [anna, ben].map(({ call }) => call.packets.length)
      const last = { inbound: stalled.tracks.inbound.length, outbound: stalled.tracks.outbound.length }
      stalling.stall()
      await receiver.frames(healthy, 'inbound', 250)
      stalling.resume()
      await stalling.until(() => (TRACKS.every(track => gapOf(stalled.tracks[track]) > 0) ? true : undefined))
      await stalling.frames(stalled, 'inbound', 50)
      const stopped = await stopStream(anna.callId, id)
      await stalling.until(() => (stalled.stopped ? true : undefined))

      const gaps = TRACKS.map(track => gapOf(stalled.tracks[track]))
      assert.is(gaps[0]! + gaps[1]!, stopped.frames_dropped, 'the gaps in chunk are the frames dropped')
      for (const [i, track] of TRACKS.entries()) {
        assert.is(gapsIn(stalled.tracks[track]), 1, `${track}: what is dropped is one stretch`)
        const kept = 250 - gaps[i]!
        assert.ok(Math.abs(kept - MAX_WAITING) <= IN_FLIGHT, `${track}: of 5 s ${kept} frames were kept`)
        const first = stalled.tracks[track].find(({ chunk }, n) => chunk !== n + 1)!
        assert.ok(first.chunk > last[track], 'what was read before the stall is whole')
        assertWhole(healthy, track)
      }
      for (const [i, { call }] of [anna, ben].entries()) assertUnmoved(call.packets.slice(heardBefore[i]))
      assert.is((await stopStream(anna.callId, healthyId)).frames_dropped, 0)
    },
    SLOW,
  )
}

const gapsIn = (chunks: readonly { chunk: number }[]): number =>
  chunks.filter(({ chunk }, i) => i > 0 && chunk !== chunks[i - 1]!.chunk + 1).length

/** Number of chunks that are missing between received ones. */
const gapOf = (chunks: readonly { chunk: number }[]): number =>
  chunks.reduce((sum, { chunk }, i) => sum + (i === 0 ? 0 : chunk - chunks[i - 1]!.chunk - 1), 0)

/** Checks that every packet of a call arrived, each 20 ms after the one before by its timestamp. */
function assertUnmoved(packets: readonly { sequence: number; timestamp: number }[]): void {
  assert.ok(packets.length > 200)
  for (let i = 1; i < packets.length; i++) {
    const [last, next] = [packets[i - 1]!, packets[i]!]
    assert.is((next.sequence - last.sequence) & 0xffff, 1)
    assert.is((next.timestamp - last.timestamp) >>> 0, 160)
  }
}

for (const [behaviour, status, reason, detail] of [
  ['answers 302', 'failed', 'connect_failed', 'Unexpected server response: 302'],
  ['refuses', 'failed', 'connect_failed', 'read ECONNRESET'],
  ['closes with 1000', 'stopped', 'receiver_closed', null],
] as [Behaviour, string, string, string | null][]) {
  test(
    `a receiver that ${behaviour} ends its own stream as ${status}, ${reason}, and the call goes on`,
    async () => {
      const bad = keep(await WsReceiver.listen(behaviour))
      const from = anna.call.packets.length
      const { id } = await startStream(anna.callId, { url: bad.url })
      const ended = await product.until(`the stream is ${status}`, async () => {
        const stream = await streamOf(anna.callId, id)
        return stream.ended_reason === null ? null : stream
      })
      assert.is(ended.status, status)
      assert.is(ended.ended_reason, reason)
      assert.is(ended.ended_detail, detail)
      await anna.call.heard.next(500)
      for (const [i, packet] of anna.call.packets.slice(from).entries()) {
        if (i > 0) assert.is((packet.sequence - anna.call.packets[from + i - 1]!.sequence) & 0xffff, 1)
      }
    },
    SLOW,
  )
}

test(
  'a stream says, in the API and in the log, why its receiver cannot be reached: a refused port, a certificate',
  async () => {
    const { certificate, privateKey } = makeCertificate(Date.now())
    const pem = (what: string, der: Uint8Array) =>
      `-----BEGIN ${what}-----\n${Buffer.from(der).toString('base64')}\n-----END ${what}-----\n`
    const server = createServer({ cert: pem('CERTIFICATE', certificate), key: pem('PRIVATE KEY', privateKey) })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const nobody = await freePort()
    for (const [url, detail] of [
      [`ws://127.0.0.1:${nobody}/?token=hidden`, `connect ECONNREFUSED 127.0.0.1:${nobody}`],
      [`wss://127.0.0.1:${port}/`, 'self-signed certificate'],
    ] as const) {
      const { id } = await startStream(anna.callId, { url })
      const ended = await product.until('it has failed', async () => {
        const stream = await streamOf(anna.callId, id)
        return stream.ended_reason === null ? null : stream
      })
      const told: string = ended.ended_detail
      assert.is(ended.ended_reason, 'connect_failed')
      // Node 24 adds what an operator can do about a certificate.
      assert.ok(told === detail || told.startsWith(`${detail};`), told)
      assert.ok(product.output.includes(`"endedDetail":"${told}"`))
      const events = (await product.ok('GET', '/events?type=call.stream.failed&limit=1')).data
      assert.equal([events[0].data.object.id, events[0].data.object.ended_detail], [id, told])
    }
    server.close()
  },
  SLOW,
)

test(
  'a stream ends with its call: the receiver gets stop, the stream is stopped with call_ended',
  async () => {
    const room = await newRoom(product)
    const cleo = await seat(product, room, 'stream-c')
    const { id } = await startStream(cleo.callId, { url: receiver.url })
    const stream = await receiver.stream(id)
    await receiver.frames(stream, 'inbound', 10)
    await cleo.call.hangup()
    await receiver.until(() => (stream.stopped ? true : undefined))
    const ended = await product.until('the stream has ended', async () => {
      const found = await streamOf(cleo.callId, id)
      return found.ended_reason === null ? null : found
    })
    assert.is(ended.status, 'stopped')
    assert.is(ended.ended_reason, 'call_ended')
    assert.is(ended.frames_sent, stream.tracks.inbound.length)
    await leave(cleo)
  },
  SLOW,
)

test.run()
