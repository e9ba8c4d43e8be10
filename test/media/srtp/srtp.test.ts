import * as assert from 'uvu/assert'
import { writeReport } from '../../../media/rtp/rtcp.ts'
import { writeRtpHeader } from '../../../media/rtp/rtp.ts'
import { SrtpReceiver } from '../../../media/srtp/srtp-receiver.ts'
import { SrtpSender } from '../../../media/srtp/srtp-sender.ts'
import { SrtpWire } from '../../../media/srtp/srtp-wire.ts'
import { CRYPTO_SUITES, type CryptoSuite, newKey } from '../../../sip/sdp/sdes.ts'
import { Random } from '../../fuzz/random.ts'
import { suite } from '../../harness.ts'

const test = suite('media/srtp')
const SUITES = Object.keys(CRYPTO_SUITES) as CryptoSuite[]
const PAYLOAD = 160
const SSRC = 0xfeedbeef
const hexOf = (bytes: Uint8Array | null): string => Buffer.from(bytes ?? []).toString('hex')

const keyOf = (name: CryptoSuite, seed: number): string => newKey(name, bytes => new Random(seed).bytes(bytes))

/** A packet whose payload identifies its number. */
function packet(sequence: number, options: { ssrc?: number; csrcs?: number } = {}): Uint8Array {
  const { ssrc = SSRC, csrcs = 0 } = options
  const bytes = new Uint8Array(12 + csrcs * 4 + PAYLOAD).fill(sequence & 0xff)
  writeRtpHeader(bytes, { marker: false, payloadType: 0, sequence: sequence & 0xffff, timestamp: sequence * 160, ssrc })
  bytes[0]! |= csrcs
  return bytes
}

class Pair {
  readonly sender: SrtpSender
  readonly receiver: SrtpReceiver

  constructor(name: CryptoSuite = 'AES_CM_128_HMAC_SHA1_80') {
    this.sender = new SrtpSender(name, keyOf(name, 1))
    this.receiver = new SrtpReceiver(name, keyOf(name, 1))
  }

  seal(plain: Uint8Array): Uint8Array {
    const length = this.sender.rtp(plain, plain.length)
    return this.sender.rtpPacket.slice(0, length)
  }

  /** Whether it arrives as it was sent. */
  takes(sealed: Uint8Array, plain: Uint8Array): boolean {
    const opened = this.receiver.rtp(sealed)
    return opened !== null && Buffer.compare(opened, plain) === 0
  }
}

test('what is sealed is not readable, and opens as it was, with each suite, with CSRCs too', () => {
  for (const name of SUITES) {
    const pair = new Pair(name)
    for (let n = 0; n < 50; n++) {
      const plain = packet(n, { csrcs: n % 4 })
      const sealed = pair.seal(plain)
      const header = 12 + (n % 4) * 4
      assert.is(hexOf(sealed.subarray(0, header)), hexOf(plain.subarray(0, header)), 'the header stays')
      const same = sealed.subarray(header, plain.length).filter((byte, i) => byte === plain[header + i]).length
      assert.ok(same < 20, `${same} of ${PAYLOAD} bytes are as they were`)
      assert.ok(pair.takes(sealed, plain), `${name}: packet ${n}`)
    }
  }
})

test('RFC 3711 §3.3.1: the index follows the sequence number over its roll-over, with loss and reordering at it', () => {
  const pair = new Pair()
  const order = [65_530, 65_533, 65_532, 65_537, 65_534, 65_536, 65_550, 65_535, 65_540]
  const sealed = new Map<number, Uint8Array>()
  for (let n = 65_530; n <= 65_550; n++) sealed.set(n, pair.seal(packet(n)))
  for (const n of order) assert.ok(pair.takes(sealed.get(n)!, packet(n)), String(n))
  for (let n = 66_000; n < 65_536 * 6; n += 9973) {
    const plain = packet(n)
    assert.ok(pair.takes(pair.seal(plain), plain), String(n))
  }
})

test('RFC 3711 §3.2.3: another stream of the same key counts its roll-overs anew', () => {
  for (const name of SUITES) {
    const pair = new Pair(name)
    for (let n = 0; n < 65_536 * 3; n += 9973) pair.seal(packet(n))
    const plain = packet(32_000, { ssrc: 7 })
    assert.ok(pair.takes(pair.seal(plain), plain))
    for (let n = 32_001; n < 65_536 * 2; n += 9973) {
      const next = packet(n, { ssrc: 7 })
      assert.ok(pair.takes(pair.seal(next), next), `${name}: ${n}`)
    }
  }
})

test('what goes out late is sealed with the index of its own place, over a roll-over too', () => {
  const pair = new Pair()
  for (const n of [65_530, 65_531, 65_534, 65_532, 65_537, 65_533, 65_536, 65_535, 65_538]) {
    const plain = packet(n)
    assert.ok(pair.takes(pair.seal(plain), plain), String(n))
  }
})

test('a far end whose number rolled over before we could listen is heard', () => {
  const pair = new Pair()
  for (let n = 65_500; n < 65_600; n++) pair.seal(packet(n))
  const plain = packet(65_600)
  assert.ok(pair.takes(pair.seal(plain), plain))
})

test('RFC 3711 §3.3.2: no packet is taken twice, and none that is older than the window', () => {
  const pair = new Pair()
  const sealed = Array.from({ length: 300 }, (_, n) => pair.seal(packet(n)))
  for (const n of [0, 2, 1, 150]) assert.ok(pair.takes(sealed[n]!, packet(n)), String(n))
  for (const n of [0, 1, 2, 150]) assert.is(pair.receiver.rtp(sealed[n]!), null, `${n} again`)
  assert.is(pair.receiver.rtp(sealed[22]!), null, 'too old')
  assert.ok(pair.takes(sealed[23]!, packet(23)), 'late, and in the window')
})

test('what is not authentic changes nothing: neither the window nor the roll-over counter nor a source', () => {
  const pair = new Pair()
  const random = new Random(7)
  for (let n = 0; n < 2000; n++) {
    const plain = packet(n)
    const sealed = pair.seal(plain)
    for (const forged of [
      packet(random.int(65_536)),
      packet(random.int(65_536), { ssrc: random.int(2 ** 32) }),
      random.mutate(Buffer.from(sealed)),
      random.bytes(random.int(200)),
      random.bytes(random.pick([1499, 1500, 1501, 60_000])),
      sealed.subarray(0, random.int(sealed.length)),
    ]) {
      if (Buffer.compare(forged, sealed) !== 0) assert.is(pair.receiver.rtp(forged), null, `seed 7, ${n}`)
    }
    assert.ok(pair.takes(sealed, plain), `packet ${n}`)
  }
})

test('another source under the same key has a counter of its own', () => {
  const pair = new Pair()
  for (let n = 0; n < 10; n++) assert.ok(pair.takes(pair.seal(packet(n)), packet(n)))
  const other = new SrtpSender('AES_CM_128_HMAC_SHA1_80', keyOf('AES_CM_128_HMAC_SHA1_80', 1))
  for (let source = 1; source < 40; source++) {
    const plain = packet(source, { ssrc: source })
    const length = other.rtp(plain, plain.length)
    assert.ok(pair.takes(other.rtpPacket.slice(0, length), plain), `source ${source}`)
  }
})

test('RTCP is opened once, and only when it is encrypted', () => {
  for (const name of SUITES) {
    const { sender, receiver } = new Pair(name)
    const report = new Uint8Array(512)
    const length = writeReport(report, SSRC, null, null, 'me@example')
    const sealed = Array.from({ length: 3 }, () => sender.rtcpPacket.slice(0, sender.rtcp(report, length)))
    for (const one of sealed) assert.is(hexOf(receiver.rtcp(one)), hexOf(report.subarray(0, length)))
    for (const one of sealed) assert.is(receiver.rtcp(one), null, 'again')
    const fresh = sender.rtcpPacket.slice(0, sender.rtcp(report, length))
    const at = name === 'AEAD_AES_128_GCM' ? fresh.length - 4 : fresh.length - 14
    const unencrypted = fresh.slice()
    unencrypted[at]! &= 0x7f
    assert.is(receiver.rtcp(unencrypted), null)
    assert.is(receiver.rtcp(report.subarray(0, length)), null)
    const random = new Random(8)
    for (let n = 0; n < 500; n++) assert.is(receiver.rtcp(random.bytes(random.int(64))), null)
    assert.is(hexOf(receiver.rtcp(fresh)), hexOf(report.subarray(0, length)))
  }
})

/** Two ends of a call whose packets go straight to the other. */
function call() {
  const ab = keyOf('AES_CM_128_HMAC_SHA1_80', 1)
  const ba = keyOf('AES_CM_128_HMAC_SHA1_80', 2)
  const name = 'AES_CM_128_HMAC_SHA1_80' as const
  const sent: Uint8Array[] = []
  const out = {
    sendRtp: (bytes: Uint8Array, length: number) => sent.push(bytes.slice(0, length)),
    sendRtcp: (bytes: Uint8Array, length: number) => sent.push(bytes.slice(0, length)),
  }
  const a = new SrtpWire(out, { suite: name, sendKey: ab, receiveKey: ba })
  const b = new SrtpWire(out, { suite: name, sendKey: ba, receiveKey: ab })
  const say = (wire: SrtpWire, n: number): Uint8Array => {
    wire.sendRtp(packet(n), 12 + PAYLOAD, '192.0.2.1', 4000)
    return sent.pop()!
  }
  return { a, b, ab, ba, name, say, sent }
}

test('a description with the same keys goes on where it was', () => {
  const { a, b, ab, ba, name, say } = call()
  const first = say(a, 1)
  assert.ok(b.openRtp(first) !== null)
  a.agree({ suite: name, sendKey: ab, receiveKey: ba })
  b.agree({ suite: name, sendKey: ba, receiveKey: ab })
  assert.is(b.openRtp(first), null, 'a copy of what was before')
  assert.ok(b.openRtp(say(a, 2)) !== null)
})

test('after a new key the old one is heard until the far end has changed', () => {
  const { a, b, ba, name, say } = call()
  assert.ok(b.openRtp(say(a, 1)) !== null)
  const fresh = keyOf(name, 3)
  b.agree({ suite: name, sendKey: ba, receiveKey: fresh })
  assert.ok(b.openRtp(say(a, 2)) !== null, 'on its way')
  const late = say(a, 3)
  a.agree({ suite: name, sendKey: fresh, receiveKey: ba })
  assert.ok(b.openRtp(say(a, 4)) !== null, 'with the new key')
  assert.is(b.openRtp(late), null, 'the old key is over')
  assert.ok(a.openRtp(say(b, 1)) !== null, 'the other direction goes on')
})

test('a far end that takes a new key after an hour is heard, whether it counts its roll-overs on or anew', () => {
  for (const countsOn of [true, false]) {
    const { b, ba, name } = call()
    const sealed = (sender: SrtpSender, sequence: number): Uint8Array => {
      const length = sender.rtp(packet(sequence), 12 + PAYLOAD)
      return sender.rtpPacket.slice(0, length)
    }
    // Three roll-overs are 65 minutes of packets of 20 ms; of them these are enough to count by.
    const hour = Array.from({ length: 13 }, (_, n) => (n * 0x4000) & 0xffff)
    const before = new SrtpSender(name, keyOf(name, 1))
    for (const sequence of hour) assert.ok(b.openRtp(sealed(before, sequence)) !== null)
    const fresh = new SrtpSender(name, keyOf(name, 3))
    if (countsOn) for (const sequence of hour) sealed(fresh, sequence)
    // Twice, before it was heard with the first of the two.
    for (const seed of [4, 3]) b.agree({ suite: name, sendKey: ba, receiveKey: keyOf(name, seed) })
    for (const sequence of [1, 2]) assert.ok(b.openRtp(sealed(fresh, sequence)) !== null, `counts on: ${countsOn}`)
  }
})

test('RFC 5761: a report on the RTP port is sealed as RTCP', () => {
  const { a, b, sent } = call()
  const report = new Uint8Array(512)
  const length = writeReport(report, SSRC, null, null, 'me@example')
  a.sendRtp(report, length, '192.0.2.1', 4000)
  assert.is(hexOf(b.openRtcp(sent.pop()!)), hexOf(report.subarray(0, length)))
  a.sendRtcp(report, length, '192.0.2.1', 4001)
  assert.is(hexOf(b.openRtcp(sent.pop()!)), hexOf(report.subarray(0, length)))
})

test.run()
