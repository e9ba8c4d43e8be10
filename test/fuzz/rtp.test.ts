// Judges timing: it compares audio sample by sample, and when it arrives.
import * as assert from 'uvu/assert'
import { pacer } from '../../bench/phone/pacer.ts'
import { Phone } from '../../bench/phone/phone.ts'
import { Product } from '../../bench/product.ts'
import { SrtpReceiver } from '../../media/srtp/srtp-receiver.ts'
import { SrtpSender } from '../../media/srtp/srtp-sender.ts'
import { newKey } from '../../sip/sdp/sdes.ts'
import { curtain } from '../e2e/scene.ts'
import { suite } from '../harness.ts'
import { assertExact, Health, noise } from './health.ts'
import { Random } from './random.ts'
import { type Address, offer, RawCall, RawSocket } from './raw-caller.ts'

const test = suite('fuzz/rtp')
const TIMEOUT = { timeoutMs: 60_000 }
const EVENT_PT = 101
const FRAMES_PER_SECOND = 50

let product: Product
let health: Health

test.before(async () => {
  product = await Product.start()
  health = await Health.of(product)
})
test.after(async () => {
  await curtain(product)
})

interface Fields {
  version?: number
  padding?: boolean
  extension?: boolean
  csrcs?: number
  marker?: boolean
  payloadType?: number
  sequence: number
  timestamp: number
  ssrc?: number
}

/** An RTP packet (RFC 3550 §5.1) whose header fields may be wrong. */
function packet(fields: Fields, payload: Uint8Array = Buffer.alloc(160, 0xff)): Buffer {
  const header = Buffer.alloc(12)
  const { version = 2, padding = false, extension = false, csrcs = 0, marker = false, payloadType = 0 } = fields
  header[0] = (version << 6) | (padding ? 0x20 : 0) | (extension ? 0x10 : 0) | csrcs
  header[1] = (marker ? 0x80 : 0) | payloadType
  header.writeUInt16BE(fields.sequence & 0xffff, 2)
  header.writeUInt32BE(fields.timestamp >>> 0, 4)
  header.writeUInt32BE((fields.ssrc ?? 0x5eed) >>> 0, 8)
  return Buffer.concat([header, payload])
}

/** A packet whose header contradicts its contents, or that no codec can decode. */
function lying(random: Random, sequence: number): Buffer {
  const at = { sequence, timestamp: sequence * 160 }
  switch (random.int(12)) {
    case 0:
      return packet({ ...at, version: random.pick([0, 1, 3]) })
    case 1:
      return packet({ ...at, csrcs: 15 }, random.bytes(random.int(61)))
    case 2:
      return packet({ ...at, extension: true }, Buffer.from([0xbe, 0xde, 0xff, 0xff, ...random.bytes(random.int(40))]))
    case 3:
      return packet({ ...at, padding: true }, Buffer.alloc(160, random.pick([0, 1, 160, 161, 255])))
    case 4:
      return packet({ ...at, padding: true, extension: true, csrcs: 15 }, random.bytes(random.int(200)))
    case 5:
      return packet(at, random.bytes(random.pick([0, 1, 159, 161, 1400, 60_000])))
    case 6:
      return packet({ ...at, payloadType: random.int(128) })
    case 7:
      return packet({ ...at, sequence: random.int(65_536), timestamp: random.int(2 ** 32) })
    case 8:
      return packet({ ...at, timestamp: sequence * 160 + random.pick([1, 7, 2 ** 31, -160, 1e6]) })
    case 9:
      return packet({ ...at, ssrc: random.int(2 ** 32) })
    case 10:
      return random.bytes(random.int(40))
    default:
      return random.mutate(packet(at))
  }
}

/** A telephone event (RFC 4733 §2.3) with an invalid payload. */
function oddEvent(random: Random, sequence: number): Buffer {
  const fields = {
    sequence,
    timestamp: random.chance(0.5) ? 160 : random.int(2 ** 32),
    payloadType: EVENT_PT,
    marker: random.chance(0.3),
  }
  const event = random.pick([0, 9, 15, 16, 255, random.int(256)])
  const flags = random.pick([0x0a, 0x8a, 0xff, 0x3f, 0x80])
  const duration = random.pick([0, 1, 0xffff, random.int(65_536)])
  const payload = Buffer.from([event, flags, duration >> 8, duration & 255])
  const length = random.pick([0, 1, 2, 3, 4, 4, 4, 8, 400])
  return packet(fields, length <= 4 ? payload.subarray(0, length) : Buffer.alloc(length, payload))
}

/** A compound RTCP packet (RFC 3550 §6) with wrong counts, lengths and types. */
function oddReport(random: Random, ssrc: number): Buffer {
  const parts: Buffer[] = []
  for (let n = 1 + random.int(4); n > 0; n--) {
    const type = random.pick([200, 201, 202, 203, 204, 205, 206, 207, 192, 255])
    const body = random.bytes(random.pick([0, 4, 8, 20, 24, 52, 3, 400]))
    if (body.length >= 4) body.writeUInt32BE(random.chance(0.5) ? ssrc : random.int(2 ** 32), 0)
    const words = random.pick([body.length >> 2, 0, 0xffff, (body.length >> 2) + 1])
    const first = (random.pick([2, 2, 2, 1, 3]) << 6) | (random.chance(0.1) ? 0x20 : 0) | random.int(32)
    parts.push(Buffer.from([first, type, words >> 8, words & 255]), body)
  }
  return Buffer.concat(parts)
}

const rtcpOf = ({ host, port }: Address): Address => ({ host, port: port + 1 })

/** Sends packets to a leg from the source that it has latched onto. */
async function attack(label: string, count: number, bytes: (n: number, call: RawCall) => [Buffer, Address]) {
  const call = await RawCall.open('1002', product.sip, label.replaceAll(' ', '-'))
  for (let n = 0; n < 5; n++) await call.rtp.send(packet({ sequence: n, timestamp: n * 160 }), call.media)
  for (let n = 5; n < count; n++) await call.rtp.send(...bytes(n, call))
  await health.check(label)
  await call.hangup()
}

test(
  'RTP with wrong versions, CSRCs, extensions, padding, sizes and jumps harms nothing',
  async () => {
    const random = new Random(201)
    await attack(`seed ${random.seed}`, 2000, (n, call) => [lying(random, n), call.media])
  },
  TIMEOUT,
)

test(
  'telephone events with odd payloads harm nothing',
  async () => {
    const random = new Random(202)
    await attack(`seed ${random.seed}`, 2000, (n, call) => [oddEvent(random, n), call.media])
  },
  TIMEOUT,
)

test(
  'RTCP compounds that lie about their counts, lengths and types harm nothing',
  async () => {
    const random = new Random(203)
    await attack(`seed ${random.seed}`, 2000, (_n, call) => [
      random.chance(0.3) ? random.mutate(oddReport(random, 0x5eed)) : oddReport(random, 0x5eed),
      random.chance(0.5) ? call.media : rtcpOf(call.media),
    ])
  },
  TIMEOUT,
)

test(
  'a stranger cannot disturb a latched leg by a single sample, with valid packets or others',
  async () => {
    const random = new Random(204)
    const stranger = await RawSocket.open()
    const phone = await Phone.open('victim')
    const call = await phone.call('1002', product.sip, { voice: noise(2) })
    await assertExact(call, 'before the attack')
    const { remoteHost: host, remotePort: port } = call.audio.media!
    const latest = call.packets.at(-1)!
    let sent = 0
    const pace = setInterval(() => {
      for (let n = 0; n < 5; n++, sent++) {
        const like = { sequence: latest.sequence + sent, timestamp: latest.timestamp + sent * 160, ssrc: latest.ssrc }
        void stranger.send(random.chance(0.5) ? packet(like) : lying(random, sent), { host, port })
        void stranger.send(oddEvent(random, sent), { host, port })
        void stranger.send(oddReport(random, latest.ssrc), rtcpOf({ host, port }))
      }
    }, 10)
    try {
      await assertExact(call, `seed ${random.seed}, during the attack`)
    } finally {
      clearInterval(pace)
    }
    await call.hangup()
    stranger.close()
    await health.check(`seed ${random.seed}`)
  },
  TIMEOUT,
)

test(
  'a leg whose own source sent garbage is heard again, frame for frame, as soon as it speaks',
  async () => {
    const random = new Random(205)
    const call = await RawCall.open('1002', product.sip, `own-${random.seed}`)
    for (let n = 0; n < 500; n++) {
      await call.rtp.send(lying(random, n), call.media)
      await call.rtp.send(oddEvent(random, n), call.media)
      await call.rtp.send(oddReport(random, 0x5eed), rtcpOf(call.media))
    }
    const spoken: Buffer[] = []
    const echoed = (): boolean => holdsRun(call.heard, spoken, FRAMES_PER_SECOND)
    // A new source begins: RFC 3550 §8.2.
    const stop = pacer.join(() => {
      const payload = random.bytes(160).map(byte => (byte === 0x7f ? 0xff : byte)) as Buffer
      const at = { sequence: spoken.length, timestamp: spoken.length * 160, ssrc: 0xfeed }
      void call.rtp.send(packet(at, payload), call.media)
      spoken.push(payload)
    })
    while (!echoed() && spoken.length < 8 * FRAMES_PER_SECOND) await new Promise(later => setTimeout(later, 100))
    stop()
    assert.ok(echoed(), `seed ${random.seed}: a second of the echo is exactly what was said`)
    await call.hangup()
    await health.check(`seed ${random.seed}`)
  },
  TIMEOUT,
)

test(
  'an encrypted leg is not disturbed by what is forged, changed or sent again, and what it sends cannot be read',
  async () => {
    const random = new Random(206)
    const name = 'AES_CM_128_HMAC_SHA1_80'
    const key = newKey(name, bytes => random.bytes(bytes))
    const crypto = `a=crypto:1 ${name} inline:${key}`
    const secure = (port: number): string =>
      offer(port).replace('RTP/AVP', 'RTP/SAVP').replace('a=ptime', `${crypto}\r\na=ptime`)
    const call = await RawCall.open('1002', product.sip, `srtp-${random.seed}`, secure)
    const theirs = /^a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:(\S+)/m.exec(call.answer)?.[1]
    assert.ok(theirs !== undefined && theirs !== key, call.answer)
    const [sender, receiver] = [new SrtpSender(name, key), new SrtpReceiver(name, theirs!)]
    const [spoken, sealed, opened]: [Buffer[], Buffer[], Buffer[]] = [[], [], []]
    let read = 0
    const echoed = (): boolean => {
      for (; read < call.heard.length; read++) {
        const plain = receiver.rtp(call.heard[read]!)
        if (plain !== null) opened.push(Buffer.from(plain))
      }
      return holdsRun(opened, spoken, FRAMES_PER_SECOND)
    }
    const stop = pacer.join(() => {
      const payload = random.bytes(160).map(byte => (byte === 0x7f ? 0xff : byte)) as Buffer
      const at = { sequence: spoken.length, timestamp: spoken.length * 160 }
      const length = sender.rtp(packet(at, payload), 172)
      const bytes = Buffer.from(sender.rtpPacket.subarray(0, length))
      for (const hostile of [lying(random, at.sequence), packet(at), random.mutate(bytes), oddReport(random, 0x5eed)]) {
        if (!hostile.equals(bytes)) void call.rtp.send(hostile, call.media)
      }
      void call.rtp.send(bytes, call.media)
      if (sealed.length > 0) void call.rtp.send(random.pick(sealed), call.media)
      spoken.push(payload)
      sealed.push(bytes)
    })
    while (!echoed() && spoken.length < 8 * FRAMES_PER_SECOND) await new Promise(later => setTimeout(later, 100))
    stop()
    assert.ok(echoed(), `seed ${random.seed}: a second of the echo is exactly what was said`)
    assert.not.ok(holdsRun(call.heard, spoken, 1), 'it was sent as it is')
    await call.hangup()
    await health.check(`seed ${random.seed}`)
  },
  TIMEOUT,
)

/** Whether `count` successive payloads were passed on, wherever in a packet the first of them begins. */
function holdsRun(packets: readonly Buffer[], payloads: readonly Buffer[], count: number): boolean {
  const carried = Buffer.concat(packets.map(bytes => bytes.subarray(12)))
  return payloads.some(
    (_, first) =>
      first + count <= payloads.length && carried.includes(Buffer.concat(payloads.slice(first, first + count))),
  )
}

test.run()
