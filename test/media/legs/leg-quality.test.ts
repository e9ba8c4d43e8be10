import * as assert from 'uvu/assert'
import { seeded } from '../../../bench/seeded.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { LegQuality } from '../../../media/legs/leg-quality.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { NO_HOOKS } from '../../../media/rooms/leg.ts'
import { JitterBuffer } from '../../../media/rtp/jitter.ts'
import { mosOf } from '../../../media/rtp/mos.ts'
import { ReceptionStats } from '../../../media/rtp/reception-stats.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { mediaOf } from '../engine/party.ts'

const test = suite('media/legs/leg-quality')
const HOST = '192.0.2.2'
const NOWHERE = { sendRtp: () => {}, sendRtcp: () => {} }

/** The delay of a packet [ms]; null: it is lost. */
type Network = (packet: number) => number | null

/** A far end that speaks for some seconds to a leg with its real jitter buffer, on its own clock. `pace`: that clock relative to ours. */
function call(
  seconds: number,
  network: Network,
  pace = 1,
  speaks: (packet: number) => boolean = () => true,
  comesTwice: (packet: number) => boolean = () => false,
) {
  const told: boolean[] = []
  const hooks = {
    ...NO_HOOKS,
    quality: (_leg: unknown, isPoor: boolean) => told.push(isPoor),
  }
  let state = 1
  const leg = new RtpLeg(
    'part_1',
    NOWHERE as never,
    hooks,
    () => state++,
    () => {},
  )
  leg.connect(mediaOf(HOST), 0)
  const sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 0, maxPayload: 160 })
  const arrivals: { at: number; bytes: Uint8Array }[] = []
  const frame = new Int16Array(160)
  for (let n = 0; n < seconds * 50; n++) {
    const delay = network(n)
    if (speaks(n)) {
      for (let i = 0; i < 160; i++) frame[i] = 8000 * Math.sin(0.4 * (160 * n + i))
      PCMU.encode(frame, sender.packet.subarray(12))
      const bytes = Buffer.from(sender.write(0, 160).subarray(0, 172))
      if (delay !== null) arrivals.push({ at: (n * 20) / pace + 3 + delay, bytes })
      if (delay !== null && comesTwice(n)) arrivals.push({ at: (n * 20) / pace + 4 + delay, bytes: Buffer.from(bytes) })
    }
    sender.advance(160)
  }
  arrivals.sort((a, b) => a.at - b.at)
  let next = 0
  for (let now = 20; now <= seconds * 1000; now += 20) {
    for (; next < arrivals.length && arrivals[next]!.at <= now; next++) {
      leg.rtp(arrivals[next]!.bytes, HOST, 4000, arrivals[next]!.at)
    }
    leg.pull(now, false, false)
    leg.send(null, null, now)
  }
  return { quality: leg.quality, told }
}

/** By ITU-T G.107, written down once more: 93.2 less what delay does (Idte, Idd), less Ie,eff of G.711 with concealment (G.113: Ie 0, Bpl 25.1). */
function expectedMos(delayMs: number, lossPercent: number, burstRatio: number): number {
  const echo = 65 - 40 * Math.log10((1 + delayMs / 10) / (1 + delayMs / 150))
  const half = (94.77 - (80 + 2.5 * (echo - 14))) / 2
  const x = Math.max(0, Math.log2(delayMs / 100))
  const late = 25 * ((1 + x ** 6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
  const lost = (95 * lossPercent) / (lossPercent / burstRatio + 25.1)
  const r = 93.2 - (half + Math.sqrt(half ** 2 + 100) - 1) - late - lost
  return 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6
}

test('5 % random loss is the MOS within 0.1 that G.107 gives for our concealment', () => {
  for (const seed of [1, 2, 3]) {
    const random = seeded(seed)
    const { quality } = call(120, () => (random() < 0.05 ? null : 20 + 3 * random()))
    assert.ok(Math.abs(quality.lossPct - 5) < 0.7, `${quality.lossPct} % lost`)
    assert.ok(Math.abs(quality.mos! - expectedMos(quality.delayMs, 5, 1)) < 0.1, `${quality.mos}`)
    assert.ok(quality.burstRatio < 1.15, `${quality.burstRatio}`)
    assert.ok(Math.abs(quality.concealedPct - 5) < 1, `${quality.concealedPct} % concealed`)
  }
})

test('packets that come twice do not hide others that are lost', () => {
  const random = seeded(5)
  const lost = Array.from({ length: 3000 }, () => random() < 0.05)
  const once = call(60, n => (lost[n] ? null : 20)).quality
  const twice = call(
    60,
    n => (lost[n] ? null : 20),
    1,
    () => true,
    n => n % 10 === 5,
  ).quality
  assert.ok(once.lossPct > 3, `${once.lossPct} %`)
  assert.equal([twice.packetsLost, twice.lossPct, twice.mos], [once.packetsLost, once.lossPct, once.mos])
})

test('packets too late to play count as lost: 10 % that take 600 ms are the MOS of 10 % loss', () => {
  const random = seeded(4)
  const { quality } = call(60, () => (random() < 0.1 ? 620 : 20))
  assert.is(quality.packetsLost, 0)
  assert.ok(quality.packetsLate > 250 && quality.packetsLate < 350, `${quality.packetsLate}`)
  const expected = expectedMos(quality.delayMs, (100 * quality.packetsLate) / 3000, quality.burstRatio)
  assert.ok(Math.abs(quality.mos! - expected) < 0.1, `${quality.mos} instead of ${expected}`)
})

test('200 ms of jitter is heard, and read', () => {
  const random = seeded(5)
  const { quality } = call(60, () => 20 + 200 * random())
  assert.ok(quality.jitterMs > 30, `${quality.jitterMs}`)
  assert.ok(quality.mos! < 4.2, `${quality.mos}, ${quality.packetsLate} late, ${quality.delayMs} ms`)
})

test('loss in bursts has its ratio, and a lower MOS than as much at random', () => {
  const random = seeded(6)
  const atRandom = call(120, () => (random() < 0.05 ? null : 20)).quality
  const inBursts = call(120, n => (n % 100 >= 95 ? null : 20)).quality
  assert.ok(Math.abs(inBursts.burstRatio - 5 * 0.95) < 0.4, `${inBursts.burstRatio}`)
  assert.ok(inBursts.mos! < atRandom.mos!, `${inBursts.mos} and ${atRandom.mos}`)
})

test('a packet that the next one brings once more (FEC) was not lost to the ear', () => {
  const stats = new ReceptionStats(8000)
  const quality = new LegQuality(stats)
  const jitter = new JitterBuffer()
  quality.use(jitter)
  for (let n = 0; n < 1000; n++) if (n % 20 !== 10) stats.receive(7, n, 160 * n, 20 * n)
  const mos = () => quality.figures('opus', 0, null).mos!
  const lossy = mos()
  jitter.counters.concealed = 50
  for (let n = 0; n < 40; n++) jitter.recover(1)
  assert.equal([jitter.counters.concealed, jitter.counters.recovered], [10, 40])
  assert.is(quality.figures('opus', 0, null).packetsLost, 50, 'the network has lost it all the same')
  assert.ok(mos() > lossy + 0.2, `${mos()} after ${lossy}`)
  const recovered = mos()
  quality.newSource()
  assert.is(mos(), recovered, 'a call is as good as all of its sources')
})

test('the figures are of the whole call, though the far end restarts its numbers or another SSRC goes on', () => {
  for (const ssrcs of [
    [7, 8],
    [7, 7],
  ]) {
    const stats = new ReceptionStats()
    const quality = new LegQuality(stats)
    const jitter = new JitterBuffer()
    quality.use(jitter)
    for (const [part, ssrc] of ssrcs.entries()) {
      if (part === 1 && ssrc !== 7) quality.newSource()
      // Every tenth is lost, every other tenth too late.
      for (let n = 0; n < 1000; n++) {
        const sequence = (30_000 * part + n) & 0xffff
        if (n % 10 === 4) continue
        stats.receive(ssrc!, sequence, 160 * n, 20 * n)
        if (n % 10 === 8) jitter.counters.late++
      }
    }
    const { packetsReceived, packetsLost, packetsLate, lossPct, mos } = quality.figures('PCMU', 0, null)
    assert.ok(packetsReceived >= 1796 && packetsReceived <= 1800, `${packetsReceived}`)
    assert.ok(Math.abs(packetsLost - 200) <= 2, `${packetsLost}`)
    assert.is(packetsLate, 200)
    assert.ok(Math.abs(lossPct - 10) < 0.2, `${lossPct}`)
    assert.ok(Math.abs(mos! - mosOf(20, 20)) < 0.03, `${mos}`)
  }
})

test('who falls silent without a word about it has lost nothing', () => {
  const { quality } = call(
    60,
    () => 20,
    1,
    n => n % 100 < 70,
  )
  assert.equal([quality.packetsLost, quality.packetsLate, quality.concealedPct, quality.burstRatio], [0, 0, 0, 1])
  assert.ok(quality.mos! > 4.3, `${quality.mos}`)
})

test('a network that stalls has made a hole as long as the stall, though the packets come in the end', () => {
  for (const ms of [200, 300, 600]) {
    // Every ten seconds no packets arrive for `ms`, and then all of them at once.
    const { quality } = call(120, n => 20 + Math.max(0, ms - ((n * 20 + 5000) % 10_000)))
    const share = ms / 100
    assert.is(quality.packetsLost, 0)
    assert.ok(Math.abs(quality.concealedPct - share) < 0.3 * share, `${quality.concealedPct} % of ${share} % concealed`)
    assert.ok(quality.burstRatio > 0.7 * (ms / 20), `${quality.burstRatio}`)
    const unplayed = (100 * quality.packetsLate) / 6000
    assert.ok(unplayed < 1.1 * share, `${unplayed} % late`)
    const expected = expectedMos(quality.delayMs, unplayed, quality.burstRatio)
    assert.ok(Math.abs(quality.mos! - expected) < 0.1, `${quality.mos} instead of ${expected}`)
  }
})

test('a pause after packets that were late is the pause of a speaker all the same', () => {
  const random = seeded(9)
  const { quality } = call(
    60,
    n => (n % 100 < 60 && random() < 0.1 ? 620 : 20),
    1,
    n => n % 100 < 70,
  )
  const sent = 60 * 35
  assert.ok(quality.packetsLate > 100, `${quality.packetsLate}`)
  const made = (quality.concealedPct / 100) * sent
  assert.ok(made < 1.15 * quality.packetsLate, `${made} made up for ${quality.packetsLate}`)
})

test('how much faster than ours the clock of a sender is stands in the figures after half a minute', () => {
  for (const ppm of [-200, 0, 100]) {
    const random = seeded(7)
    const { quality } = call(120, () => 20 + 15 * random() ** 2, 1 + ppm / 1e6)
    assert.ok(quality.driftPpm !== null && Math.abs(quality.driftPpm - ppm) < 25, `${quality.driftPpm} of ${ppm}`)
  }
  assert.is(call(20, () => 20).quality.driftPpm, null)
})

test('packets that take another route from some time on are no clock that drifts', () => {
  for (const ppm of [-150, 0, 150]) {
    for (const [routeMs, isOther] of [
      [45, (n: number) => n > 2000],
      [-30, (n: number) => n > 3500],
      [15, (n: number) => n % 2000 > 900],
      [25, (n: number) => n > 30],
    ] as const) {
      const random = seeded(7)
      const { quality } = call(90, n => 60 + (isOther(n) ? routeMs : 0) + 5 * random() ** 2, 1 + ppm / 1e6)
      const told = `${quality.driftPpm} of ${ppm}, ${routeMs} ms`
      assert.ok(quality.driftPpm !== null && Math.abs(quality.driftPpm - ppm) < 25, told)
    }
  }
})

test('who becomes hard to understand is told of once, and so is the end of it', () => {
  const random = seeded(8)
  const { told } = call(60, n => (n > 500 && n < 1500 && random() < 0.2 ? null : 20))
  assert.equal(told, [true, false])
  assert.equal(call(60, n => (n === 700 ? null : 20)).told, [])
})

test('after a hold the delay of the called party is what its network asks for, at once and however long the hold was', () => {
  for (const heldMs of [160, 400, 5000]) {
    const leg = new RtpLeg('part_1', NOWHERE as never, NO_HOOKS, seeded(3), () => {})
    const sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 0, maxPayload: 160 })
    let now = 0
    const goOn = (ms: number, speaks: boolean): void => {
      for (const end = now + ms; now < end; now += 20) {
        if (speaks) leg.rtp(sender.write(0, 160).slice(0, 172), HOST, 4000, now - 8)
        sender.advance(160)
        leg.pull(now, false, false)
        leg.send(null, null, now)
      }
    }
    leg.connect(mediaOf(HOST), now)
    goOn(4000, true)
    const before = leg.quality.delayMs
    leg.connect({ ...mediaOf(HOST), direction: 'sendonly' }, now)
    goOn(heldMs, false)
    leg.connect(mediaOf(HOST), now)
    goOn(40, false)
    const during = leg.quality.delayMs
    goOn(100, true)
    assert.ok(during <= before + 20, `${during} ms after ${before} ms, before the first packet`)
    assert.ok(Math.abs(leg.quality.delayMs - before) <= 20, `${leg.quality.delayMs} ms after ${before} ms`)
  }
})

test.run()
