import * as assert from 'uvu/assert'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { LEG_SAMPLES, type LegHooks, NO_HOOKS } from '../../../media/rooms/leg.ts'
import {
  fingerprintOf,
  type KeptCertificate,
  makeCertificate,
  readPrivateKey,
} from '../../../media/webrtc/certificate.ts'
import { suite } from '../../harness.ts'
import { levelOf, mediaOf, seeded, toneFrame } from '../engine/party.ts'

const test = suite('media/webrtc/dtls-leg')
const [OURS, THEIRS, ANOTHER] = [makeCertificate(0), makeCertificate(0), makeCertificate(0)]
const STRANGER = '198.51.100.66'
const [OUR_HZ, THEIR_HZ] = [700, 1100]
const FRAME_MS = 20
const SECOND = 50

interface End {
  leg: RtpLeg
  host: string
  port: number
  /** What it has heard. */
  heard: Int16Array[]
  /** First bytes of the datagrams that it has sent on its two ports. */
  sent: { rtp: Uint8Array[]; rtcp: Uint8Array[] }
  /** How many reports it has read. */
  reports: number
}

interface SceneOptions {
  isMuxed?: boolean
  /** Whether the n-th datagram of a handshake is lost. */
  lose?: (at: number) => boolean
}

/** A leg of ours and one that stands for a far end, without ICE: what one sends arrives at the other. */
function scene({ isMuxed = true, lose = () => false }: SceneOptions = {}) {
  let now = 0
  let shaken = 0
  const ends = {} as Record<'us' | 'them', End>
  const make = (name: 'us' | 'them', kept: KeptCertificate, host: string): End => {
    const sent: End['sent'] = { rtp: [], rtcp: [] }
    const way = (kind: 'rtp' | 'rtcp') => (bytes: Uint8Array, length: number, _host: string, to: number) => {
      const copy = bytes.slice(0, length)
      const other = ends[name === 'us' ? 'them' : 'us']
      const own = ends[name]
      sent[kind].push(copy)
      const isShaking = copy[0]! >= 20 && copy[0]! <= 63
      if (isShaking && lose(shaken++)) return
      if (to !== other.port + (kind === 'rtp' ? 0 : 1)) return
      queueMicrotask(() => other.leg[kind](copy, own.host, own.port + (kind === 'rtp' ? 0 : 1), now))
    }
    const identity = { certificate: kept.certificate, privateKey: readPrivateKey(kept) }
    const out = { sendRtp: way('rtp'), sendRtcp: way('rtcp') }
    const hooks: LegHooks = {
      ...NO_HOOKS,
      report: (_leg, isSent) => {
        if (!isSent) end.reports++
      },
    }
    const leg = new RtpLeg(name, out, hooks, seeded(host.length), () => {}, identity)
    const end: End = { leg, host, port: 4000, heard: [], sent, reports: 0 }
    return end
  }
  ends.us = make('us', OURS, '192.0.2.1')
  ends.them = make('them', THEIRS, '192.0.2.22')

  /** A description: the far end of `name` is the other end, with this certificate. */
  const agree = (
    name: 'us' | 'them',
    role: 'active' | 'passive',
    certificate: KeptCertificate,
    tlsId: string | null = null,
  ): void => {
    const other = ends[name === 'us' ? 'them' : 'us']
    const media = mediaOf(other.host)
    const fingerprint = { hash: 'sha-256', value: fingerprintOf(certificate.certificate, 'sha-256') }
    const remote = { ...media.remote, port: other.port, rtcpPort: other.port + 1, rtcpMux: isMuxed }
    ends[name].leg.connect({ ...media, remote, dtls: { role, fingerprint, tlsId, ice: null } }, now)
  }
  const run = async (frames: number): Promise<void> => {
    for (let i = 0; i < frames; i++, now += FRAME_MS) {
      const tick = now / FRAME_MS
      ends.us.leg.send(toneFrame(OUR_HZ, tick), null, now)
      ends.them.leg.send(toneFrame(THEIR_HZ, tick), null, now)
      // Whatever an answer causes has arrived, too.
      await new Promise(resolve => setImmediate(resolve))
      for (const { leg, heard } of [ends.us, ends.them]) {
        leg.pull(now + 5, false, false)
        heard.push(leg.said?.slice() ?? new Int16Array(LEG_SAMPLES))
      }
    }
  }
  const level = ({ heard }: End, hz: number): number =>
    levelOf(hz, Int16Array.from(heard.slice(-SECOND / 2).flatMap(frame => [...frame])))
  return { ...ends, ends, make, agree, run, level, at: () => now }
}

const isHandshake = (bytes: Uint8Array): boolean => bytes[0]! >= 20 && bytes[0]! <= 63

for (const role of ['active', 'passive'] as const) {
  test(`RFC 5763: keys come by DTLS to the address of the description, without ICE; we are ${role}`, async () => {
    const { us, them, agree, run, level } = scene()
    agree('us', role, THEIRS)
    agree('them', role === 'active' ? 'passive' : 'active', OURS)
    await run(2 * SECOND)
    assert.ok(level(us, THEIR_HZ) > -20, 'we hear')
    assert.ok(level(them, OUR_HZ) > -20, 'we are heard')
    const sizes = us.sent.rtp.filter(bytes => !isHandshake(bytes) && bytes[1]! < 128).map(({ length }) => length)
    assert.equal([...new Set(sizes)], [12 + LEG_SAMPLES + 10], 'nothing but SRTP leaves us')
    assert.is(us.leg.packetsRefused, 0)
  })
}

test('RFC 5764 §4.1: without rtcp-mux RTCP has a handshake, and keys, of its own', async () => {
  const { us, them, agree, run } = scene({ isMuxed: false })
  agree('us', 'active', THEIRS)
  agree('them', 'passive', OURS)
  await run(12 * SECOND)
  assert.ok(us.sent.rtcp.some(isHandshake), 'a handshake')
  const reports = them.sent.rtcp.filter(bytes => !isHandshake(bytes))
  assert.ok(reports.length > 0 && us.reports > 0, 'reports are read')
  assert.is(us.leg.packetsRefused, 0)
  // In clear, and with the keys of the audio.
  us.leg.rtcp(Buffer.from([0x80, 200, 0, 6, ...Buffer.alloc(24)]), them.host, them.port + 1, 13_000)
  assert.is(us.leg.packetsRefused, 1)
})

test('RFC 6347 §4.2.4: whatever datagram is lost, we begin until there are keys', async () => {
  for (const lost of [0, 1, 2, 3]) {
    const { us, them, agree, run, level } = scene({ lose: at => at === lost })
    agree('us', 'active', THEIRS)
    agree('them', 'passive', OURS)
    await run(3 * SECOND)
    assert.ok(level(us, THEIR_HZ) > -20 && level(them, OUR_HZ) > -20, `the ${lost}th is lost`)
  }
})

test('a far end that has begun by itself before it left that to us gets keys from us', async () => {
  const { us, them, agree, run, level } = scene()
  agree('them', 'active', OURS)
  const hello = them.sent.rtp.find(isHandshake)!
  agree('us', 'active', THEIRS)
  us.leg.rtp(hello, them.host, them.port, 0)
  agree('them', 'passive', OURS)
  await run(2 * SECOND)
  assert.ok(level(us, THEIR_HZ) > -20 && level(them, OUR_HZ) > -20)
})

test('hold and resume with the same certificate keep the keys, whoever begins', async () => {
  for (const role of ['active', 'passive'] as const) {
    const { us, them, agree, run, level } = scene()
    const theirs = role === 'active' ? 'passive' : 'active'
    agree('us', role, THEIRS)
    agree('them', theirs, OURS)
    await run(SECOND)
    const before = us.sent.rtp.filter(isHandshake).length
    agree('us', role, THEIRS)
    agree('them', theirs, OURS)
    await run(SECOND)
    assert.is(us.sent.rtp.filter(isHandshake).length, before, 'no handshake')
    assert.ok(level(us, THEIR_HZ) > -20 && level(them, OUR_HZ) > -20)
  }
})

test('RFC 5763 §6.6: another certificate, as after a transfer elsewhere, gets another handshake, and what has the keys of before is not heard', async () => {
  for (const role of ['active', 'passive'] as const) {
    const { us, ends, make, agree, run, level } = scene()
    agree('us', role, THEIRS)
    agree('them', role === 'active' ? 'passive' : 'active', OURS)
    await run(SECOND)
    const former = ends.them
    ends.them = make('them', ANOTHER, '192.0.2.22')
    agree('us', role, ANOTHER)
    const before = us.leg.packetsRefused
    former.leg.send(toneFrame(THEIR_HZ, 0), null, SECOND * FRAME_MS)
    await run(1)
    assert.is(us.leg.packetsRefused, before + 1, 'the former one is not heard')
    agree('them', role === 'active' ? 'passive' : 'active', OURS)
    await run(2 * SECOND)
    assert.ok(level(us, THEIR_HZ) > -20 && level(ends.them, OUR_HZ) > -20, role)
  }
})

test('RFC 8842 §4: another `tls-id` with the same certificate has another handshake, until which the keys of before are good', async () => {
  for (const role of ['active', 'passive'] as const) {
    const { us, them, agree, run, level } = scene()
    const both = (id: string): void => {
      agree('us', role, THEIRS, id)
      agree('them', role === 'active' ? 'passive' : 'active', OURS, id)
    }
    const shaken = (): number => us.sent.rtp.filter(isHandshake).length
    both('first')
    await run(SECOND)
    const first = shaken()
    both('first')
    await run(SECOND)
    assert.is(shaken(), first)
    both('second')
    await run(2 * SECOND)
    assert.ok(shaken() > first, role)
    assert.ok(level(us, THEIR_HZ) > -20 && level(them, OUR_HZ) > -20, role)
    assert.is(us.leg.packetsRefused, 0)
  }
})

test('a far end that moves to another port, with the same certificate, may begin anew there', async () => {
  for (const role of ['active', 'passive'] as const) {
    const { us, ends, make, agree, run, level } = scene()
    agree('us', role, THEIRS)
    agree('them', role === 'active' ? 'passive' : 'active', OURS)
    await run(SECOND)
    ends.them = make('them', THEIRS, '192.0.2.22')
    ends.them.port = 4100
    agree('us', role, THEIRS)
    agree('them', role === 'active' ? 'passive' : 'active', OURS)
    await run(3 * SECOND)
    assert.ok(level(us, THEIR_HZ) > -20 && level(ends.them, OUR_HZ) > -20, role)
  }
})

test('a far end that keeps its keys where it moves is heard there at once', async () => {
  const { us, ends, agree, run, level } = scene()
  agree('us', 'passive', THEIRS)
  agree('them', 'active', OURS)
  await run(SECOND)
  ends.them.port = 4100
  agree('us', 'passive', THEIRS)
  await run(SECOND)
  assert.ok(level(us, THEIR_HZ) > -20 && level(ends.them, OUR_HZ) > -20)
})

test('behind a NAT, audio goes to where the handshake came from before the far end sends any', async () => {
  const { us, them, agree, run } = scene()
  agree('us', 'passive', THEIRS)
  agree('them', 'active', OURS)
  // The port that its NAT has given it.
  them.port = 4711
  await run(5)
  assert.equal([us.leg.latch.host, us.leg.latch.port], [them.host, 4711])
})

test('nobody gets keys who is a stranger, or shows another certificate than the one that was described; before there are keys nothing is sent, and nothing heard', async () => {
  const stranger = scene()
  stranger.agree('us', 'passive', THEIRS)
  stranger.them.host = STRANGER
  stranger.agree('them', 'active', OURS)
  const { us, them, agree, run, at } = scene()
  agree('us', 'passive', ANOTHER)
  agree('them', 'active', OURS)
  for (const one of [stranger, { us, them, run, at }]) {
    await one.run(SECOND)
    assert.not.ok(
      one.us.sent.rtp.some(bytes => !isHandshake(bytes)),
      'no audio leaves us',
    )
    const before = one.us.leg.packetsRefused
    one.us.leg.rtp(Buffer.concat([Buffer.from([0x80, 0, 0, 1]), Buffer.alloc(168)]), one.them.host, 4000, one.at())
    assert.is(one.us.leg.packetsRefused, before + 1)
    assert.ok(
      one.us.heard.every(frame => frame.every(sample => sample === 0)),
      'nothing is heard',
    )
  }
})

test('who begins again and again in the name of a far end leaves its keys alone', async () => {
  const { us, them, agree, run, level, at } = scene()
  agree('us', 'passive', THEIRS)
  agree('them', 'active', OURS)
  await run(SECOND)
  const hello = them.sent.rtp.find(isHandshake)!
  let answered = us.sent.rtp.filter(isHandshake).length
  for (let i = 0; i < 100; i++) {
    const other = Uint8Array.from(hello)
    // Its random value.
    other[13 + 12 + 2 + 4] = i
    us.leg.rtp(other, them.host, 6666, at())
  }
  answered = us.sent.rtp.filter(isHandshake).length - answered
  assert.is(answered, 1)
  await run(SECOND)
  assert.ok(level(us, THEIR_HZ) > -20 && level(them, OUR_HZ) > -20)
})

test.run()
