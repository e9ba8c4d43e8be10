import * as assert from 'uvu/assert'
import { PCMU } from '../../../codecs/g711.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { LEG_SAMPLES, NO_HOOKS } from '../../../media/rooms/leg.ts'
import { SrtpWire } from '../../../media/srtp/srtp-wire.ts'
import { type CryptoSuite, newKey, type SrtpKeys } from '../../../sip/sdp/sdes.ts'
import { Random } from '../../fuzz/random.ts'
import { suite } from '../../harness.ts'
import { levelOf, mediaOf, Received, Speaker, seeded, toneFrame } from '../engine/party.ts'

const test = suite('media/srtp/encrypted-leg')
const NAME: CryptoSuite = 'AES_CM_128_HMAC_SHA1_80'
const [HOST, PORT, STRANGER] = ['192.0.2.2', 4000, '198.51.100.66']
const TICKS = 100
const keyOf = (seed: number): string => newKey(NAME, bytes => new Random(seed).bytes(bytes))
const crossed = ({ suite: name, sendKey, receiveKey }: SrtpKeys): SrtpKeys => ({
  suite: name,
  sendKey: receiveKey,
  receiveKey: sendKey,
})

/** An encrypted leg and its far end. What the leg sends is in `wire` encrypted, and in `received` as the far end decrypts it. */
function scene() {
  const keys = { suite: NAME, sendKey: keyOf(1), receiveKey: keyOf(2) }
  const wire: Uint8Array[] = []
  const received = new Received()
  const sealed: Uint8Array[] = []
  const keep = (bytes: Uint8Array, length: number) => sealed.push(bytes.slice(0, length))
  const far = new SrtpWire({ sendRtp: keep, sendRtcp: keep }, crossed(keys))
  const out = {
    sendRtp: (bytes: Uint8Array, length: number) => {
      wire.push(bytes.slice(0, length))
      const opened = far.openRtp(wire.at(-1)!)
      if (opened !== null) received.take(opened, opened.length)
    },
    sendRtcp: () => {},
  }
  const leg = new RtpLeg('part_1', out, NO_HOOKS, seeded(1), () => {})
  leg.connect(mediaOf(HOST, { srtp: keys }), 0)
  const speaker = new Speaker((packet, now) => {
    far.sendRtp(packet, packet.length, HOST, PORT)
    leg.rtp(sealed.at(-1)!, HOST, PORT, now)
  })
  return { leg, keys, wire, received, speaker, sealed }
}

test('an encrypted leg hears and is heard, and what it sends is no µ-law on the wire', () => {
  const { leg, wire, received, speaker } = scene()
  const heard: Int16Array[] = []
  for (let tick = 0; tick < TICKS; tick++) {
    speaker.speak(toneFrame(700, tick), tick * 20)
    leg.pull(tick * 20 + 5, false, false)
    if (leg.said !== null) heard.push(leg.said.slice())
    leg.send(toneFrame(1100, tick), null, tick * 20 + 5)
  }
  const all = Int16Array.from(heard.slice(-50).flatMap(frame => [...frame]))
  assert.ok(levelOf(700, all) > -16, 'it hears')
  assert.ok(levelOf(1100, received.heard(TICKS - 50)) > -16, 'it is heard')
  const raw = new Int16Array(50 * LEG_SAMPLES)
  for (const [i, packet] of wire.slice(-50).entries()) {
    assert.is(packet.length, 12 + LEG_SAMPLES + 10)
    PCMU.decode(packet.subarray(12, 12 + LEG_SAMPLES), raw.subarray(i * LEG_SAMPLES))
  }
  assert.ok(levelOf(1100, raw) < -30, 'a listener on the wire hears no tone')
  assert.is(leg.packetsRefused, 0)
})

test('what has not the key is counted, and neither heard nor answered', () => {
  const { leg, speaker, sealed } = scene()
  speaker.speak(toneFrame(700, 0), 0)
  const replayed = sealed[0]!
  const plain = new Speaker((packet, now) => leg.rtp(packet, STRANGER, 5000, now))
  for (let tick = 1; tick < TICKS; tick++) {
    plain.speak(toneFrame(900, tick), 10_000 + tick * 20)
    leg.rtp(replayed, STRANGER, 5000, 10_000 + tick * 20)
    leg.rtcp(replayed, STRANGER, 5001, 10_000 + tick * 20)
  }
  assert.is(leg.packetsRefused, 3 * (TICKS - 1), 'plain, sent again, and no report')
  assert.equal([leg.latch.host, leg.latch.port], [HOST, PORT])
})

test('a description without keys ends the encryption, one with keys begins it', () => {
  const { leg, keys, wire } = scene()
  const sends = (): number => {
    leg.send(toneFrame(700, 0), null, 0)
    return wire.at(-1)!.length
  }
  assert.is(sends(), 182)
  leg.connect(mediaOf(HOST), 0)
  assert.is(sends(), 172)
  leg.connect(mediaOf(HOST, { srtp: keys }), 0)
  assert.is(sends(), 182)
})

test.run()
