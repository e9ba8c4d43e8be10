import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { DtmfEventReader, DtmfEventWriter, type DtmfReading } from '../../../media/rtp/dtmf-events.ts'
import { suite } from '../../harness.ts'

interface Sent {
  timestamp: number
  marker: boolean
  payload: Uint8Array
  atMs: number
}

const ALL_KEYS = '0123456789*#ABCD'

/** What the writer sends for these keys, a packet per tick. */
function sent(keys: string, options = {}, firstTimestamp = 2 ** 32 - 1_000): Sent[] {
  const writer = new DtmfEventWriter(options)
  for (const key of keys) assert.ok(writer.enqueue(key))
  const packets: Sent[] = []
  for (let tick = 0; writer.busy; tick++) {
    const timestamp = (firstTimestamp + tick * 160) >>> 0
    assert.ok(writer.tick(timestamp))
    const { send, marker, payload } = writer.packet
    if (send) packets.push({ timestamp: writer.packet.timestamp, marker, payload: payload.slice(), atMs: tick * 20 })
  }
  return packets
}

/** What a reader makes of packets, asked on every tick until long after the last one. */
function read(packets: Sent[], reader = new DtmfEventReader()): string[] {
  const heard: string[] = []
  const note = ({ began, ended, durationMs }: DtmfReading): void => {
    if (ended !== null) heard.push(`-${ended}${durationMs}`)
    if (began !== null) heard.push(`+${began}`)
  }
  const lastMs = Math.max(0, ...packets.map(packet => packet.atMs))
  for (let nowMs = 0; nowMs <= lastMs + 400; nowMs += 20) {
    for (const { timestamp, payload, marker, atMs } of packets) {
      if (atMs > nowMs - 20 && atMs <= nowMs) note(reader.read(timestamp, payload, 0, payload.length, marker, atMs))
    }
    note(reader.advance(nowMs))
  }
  return heard
}

const keysOf = (heard: string[]): string => heard.flatMap(each => (each.startsWith('+') ? [each[1]] : [])).join('')
const isEnd = (packet: Sent): boolean => (packet.payload[1]! & 0x80) !== 0

const test = suite('media/rtp/dtmf-events')

test('an event keeps its timestamp, grows in duration, and its end is sent three times (RFC 4733 §2.5.1)', () => {
  const packets = sent('5', {}, 8_000)
  assert.equal(
    packets.map(({ timestamp, marker, payload, atMs }) => [
      atMs,
      timestamp,
      marker,
      Buffer.from(payload).toString('hex'),
    ]),
    [
      [0, 8_000, true, '050a00a0'],
      [20, 8_000, false, '050a0140'],
      [40, 8_000, false, '050a01e0'],
      [60, 8_000, false, '050a0280'],
      [80, 8_000, false, '058a0320'],
      [100, 8_000, false, '058a0320'],
      [120, 8_000, false, '058a0320'],
    ],
  )
})

test('between two keys there is a gap of at least 50 ms, after the last key audio goes on', () => {
  const packets = sent('12')
  const second = packets.find(packet => packet.payload[0] === 2)!
  assert.is(second.atMs, 160)
  assert.ok(second.marker)
  const writer = new DtmfEventWriter()
  writer.enqueue('1')
  let ticks = 0
  while (writer.tick(ticks * 160)) ticks++
  assert.is(ticks, 8)
})

test('a tone lasts 100 ms at least, 8 s at most, else what was asked for', () => {
  for (const [toneMs, expectedMs] of [
    [10, 100],
    [250, 260],
    [60_000, 8_000],
  ] as const) {
    assert.equal(read(sent('7', { toneMs })), ['+7', `-7${expectedMs}`])
  }
})

test('the queue holds 64 keys, refuses and counts one more, and takes no other letters', () => {
  const writer = new DtmfEventWriter()
  for (let i = 0; i < 64; i++) assert.ok(writer.enqueue('1'))
  assert.not(writer.enqueue('1'))
  assert.is(writer.refused, 1)
  const other = new DtmfEventWriter()
  for (const key of ['E', '', '10', ' ', 'é']) assert.not(other.enqueue(key))
  assert.not(other.busy)
  assert.ok(other.enqueue('a'))
})

test('clear finishes the key that is being sent and drops the others', () => {
  const writer = new DtmfEventWriter()
  for (const key of '123') writer.enqueue(key)
  const codes = new Set<number>()
  for (let tick = 0; writer.tick(tick * 160); tick++) {
    if (writer.packet.send) codes.add(writer.packet.payload[0]!)
    if (tick === 2) writer.clear()
  }
  assert.equal([...codes], [1])
})

test('all sixteen keys go through, over a wrap of the timestamp', () => {
  const heard = read(sent(ALL_KEYS))
  assert.is(keysOf(heard), ALL_KEYS)
  assert.ok(heard.filter(each => each.startsWith('-')).every(each => each.endsWith('100')))
})

for (const marker of ['kept', 'lost']) {
  for (const ends of [0, 1, 2, 3]) {
    test(`with the marker ${marker} and ${ends} of three ends lost every key is read once`, () => {
      const kept = sent('1123').filter(packet => {
        if (packet.marker) return marker === 'kept'
        if (!isEnd(packet)) return true
        return (packet.atMs % 160) / 20 - 4 >= ends
      })
      const heard = read(kept)
      assert.is(keysOf(heard), '1123')
      assert.equal(
        heard.map(each => each.slice(0, 2)),
        ['+1', '-1', '+1', '-1', '+2', '-2', '+3', '-3'],
      )
    })
  }
}

test('a marker bit that is cleared on every packet changes nothing', () => {
  const packets = sent('4477').map(packet => ({ ...packet, marker: false }))
  assert.equal(read(packets), ['+4', '-4100', '+4', '-4100', '+7', '-7100', '+7', '-7100'])
})

test('any single packet of an event is enough to read its key', () => {
  const whole = sent('9')
  for (const packet of whole) assert.is(keysOf(read([packet])), '9')
})

test('a sender whose timestamps go on while a key is down (against §2.5.1.2) presses each key once, also twice in a row', () => {
  const moving = (packets: Sent[]): Sent[] =>
    packets.map(each => ({ ...each, timestamp: (each.atMs * 8 + 2 ** 32 - 900) >>> 0 }))
  const heard = read(moving(sent(`${ALL_KEYS}5577`)))
  assert.is(keysOf(heard), `${ALL_KEYS}5577`)
  assert.is(heard.length, 40, 'and each ends once')
  const endless = moving(sent('5577')).filter(packet => !isEnd(packet))
  assert.is(keysOf(read(endless)), '5577')
  const random = seeded(3)
  for (let run = 0; run < 50; run++) {
    const some = moving(sent('5577')).filter(({ marker }) => marker || random() > 0.3)
    assert.is(keysOf(read(some)), '5577')
  }
})

test('the same key twice is two keys without markers and ends, too', () => {
  const packets = sent('5577').filter(packet => !isEnd(packet))
  assert.is(keysOf(read(packets.map(packet => ({ ...packet, marker: false })))), '5577')
})

test('when all ends are lost and nothing follows, the key ends after 150 ms', () => {
  const reader = new DtmfEventReader()
  const [first] = sent('9')
  reader.read(first!.timestamp, first!.payload, 0, 4, true, 1_000)
  assert.is(reader.active, '9')
  assert.is(reader.advance(1_149).ended, null)
  assert.is(reader.advance(1_150).ended, '9')
  assert.is(reader.advance(1_170).ended, null)
  assert.is(reader.active, null)
  assert.is(reader.read(first!.timestamp, first!.payload, 0, 4, false, 1_200).began, null)
})

test('duplicated and reordered packets read no key twice', () => {
  const random = seeded(4)
  for (let round = 0; round < 200; round++) {
    const packets = sent('55#0').flatMap(packet => (random() < 0.3 ? [packet, packet] : [packet]))
    // Every packet may be overtaken by those of the next 60 ms.
    const shuffled = packets.map(packet => ({ packet, key: packet.atMs + random() * 60 }))
    shuffled.sort((a, b) => a.key - b.key)
    const arrived = shuffled.map(({ packet, key }) => ({ ...packet, atMs: key }))
    assert.is(keysOf(read(arrived)), '55#0')
  }
})

/** One packet per 20 ms of a key that is down for `units`, in segments of 0xffff. */
function longPress(units: number, start = 5_000): Sent[] {
  const packets: Sent[] = []
  for (let elapsed = 160; elapsed <= units; elapsed += 160) {
    const segment = Math.floor((elapsed - 1) / 0xffff)
    const duration = elapsed - segment * 0xffff
    const end = elapsed + 160 > units
    packets.push({
      timestamp: (start + segment * 0xffff) >>> 0,
      marker: elapsed === 160,
      payload: Uint8Array.of(8, end ? 0x8a : 0x0a, duration >> 8, duration & 0xff),
      atMs: elapsed / 8,
    })
  }
  return packets
}

test('an event longer than 0xffff units goes on in segments and is one key (RFC 4733 §2.5.1.3)', () => {
  assert.equal(read(longPress(160_000)), ['+8', '-820000'])
})

test('also when the packets around the segment border are lost, or all stall beyond the time-out', () => {
  const packets = longPress(160_000)
  const holed = packets.filter(({ atMs }) => atMs < 8_150 || atMs > 8_250)
  assert.equal(read(holed), ['+8', '-820000'])
  const stalled = packets.filter(({ atMs }) => atMs < 8_000 || atMs > 8_400)
  assert.is(keysOf(read(stalled)), '8')
})

test('flash and other events beyond 15 are ignored and counted', () => {
  const reader = new DtmfEventReader()
  for (let code = 16; code < 256; code++) {
    const { began, ended } = reader.read(code * 1_000, Uint8Array.of(code, 0x8a, 1, 0), 0, 4, true, code)
    assert.is(began, null)
    assert.is(ended, null)
  }
  assert.is(reader.ignored, 240)
})

test('short packets, and a key that changes within an event, are counted as malformed', () => {
  const reader = new DtmfEventReader()
  reader.read(1, Uint8Array.of(1, 0, 0), 0, 3, true, 0)
  reader.read(1, Uint8Array.of(1, 0, 0, 0), 2, 4, true, 0)
  assert.is(reader.active, null)
  reader.read(100, Uint8Array.of(1, 0, 0, 160), 0, 4, true, 0)
  reader.read(100, Uint8Array.of(2, 0, 0, 160), 0, 4, true, 20)
  assert.is(reader.active, '1')
  assert.is(reader.malformed, 3)
})

test('after five seconds without keys, timestamps that start anew are believed', () => {
  const reader = new DtmfEventReader()
  const end = (code: number) => Uint8Array.of(code, 0x8a, 3, 32)
  assert.is(reader.read(1_000_000, end(1), 0, 4, true, 0).began, '1')
  assert.is(reader.advance(20).ended, '1')
  assert.is(reader.read(500, end(2), 0, 4, true, 4_000).began, null)
  assert.is(reader.read(500, end(2), 0, 4, true, 6_000).began, '2')
})

test('no bytes make the reader throw, and every key that begins ends', () => {
  const random = seeded(9)
  const reader = new DtmfEventReader()
  let [began, ended] = [0, 0]
  const count = (reading: DtmfReading): void => {
    if (reading.began !== null) began++
    if (reading.ended !== null) ended++
    assert.ok(reading.durationMs >= 0 && reading.durationMs < 1e7)
  }
  for (let i = 0; i < 10_000; i++) {
    const bytes = Uint8Array.from({ length: Math.floor(random() * 8) }, () => random() * 256)
    if (bytes.length > 0 && random() < 0.8) bytes[0]! &= 0x0f
    count(reader.read(Math.floor(random() * 2 ** 32), bytes, 0, bytes.length, random() < 0.5, i * 20))
  }
  count(reader.reset())
  assert.ok(began > 1_000)
  assert.is(ended, began)
})

test.run()
