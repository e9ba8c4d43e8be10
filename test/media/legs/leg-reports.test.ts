import * as assert from 'uvu/assert'
import { LegReports } from '../../../media/legs/leg-reports.ts'
import { ntpMiddle, parseRtcp, RtcpCompound, writeReport } from '../../../media/rtp/rtcp.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { suite } from '../../harness.ts'
import { seeded } from '../engine/party.ts'

const test = suite('media/engine/leg-reports')

const newReports = (): { reports: LegReports; sender: RtpSender } => {
  const sender = new RtpSender({ ssrc: 0x1234, sequence: 1, timestamp: 1000, maxPayload: 160 })
  return { reports: new LegReports(sender, seeded(3)), sender }
}

/** Lets the far end send packets 0 to count-1, without those in `lost`. */
function receive(reports: LegReports, count: number, lost: number[]): void {
  for (let i = 0; i < count; i++) {
    if (!lost.includes(i)) reports.stats.receive(0x9999, 100 + i, 160 * i, 20 * i)
  }
}

/** The first report that falls due in ten seconds, and when. */
function firstReport(reports: LegReports): { at: number; compound: RtcpCompound } {
  for (let now = 0; now <= 10_000; now += 20) {
    const length = reports.due(now)
    if (length === 0) continue
    const compound = new RtcpCompound()
    assert.ok(parseRtcp(reports.packet.subarray(0, length), compound))
    return { at: now, compound }
  }
  throw new Error('no report in ten seconds')
}

test('a report goes out 1.25 to 3.75 s after the start, and the next 2.5 to 7.5 s later (RFC 3550 §6.2, §6.3.1)', () => {
  const { reports } = newReports()
  const first = firstReport(reports).at
  assert.ok(first >= 1250 && first <= 3770, `${first} ms`)
  const second = reports.dueAt - first
  assert.ok(second >= 2500 && second <= 7500, `${second} ms`)
})

test('who has sent reports as a sender, who has not as a receiver', () => {
  assert.not(firstReport(newReports().reports).compound.hasSenderInfo)
  const { reports, sender } = newReports()
  sender.write(0, 160)
  const { compound } = firstReport(reports)
  assert.ok(compound.hasSenderInfo)
  assert.is(compound.ssrc, 0x1234)
  assert.is(compound.senderPackets, 1)
  assert.is(compound.senderOctets, 160)
})

test('who has sent nothing for two reports is a receiver again, until it sends (RFC 3550 §6.4)', () => {
  const { reports, sender } = newReports()
  const isSender = (now: number): boolean => {
    const compound = new RtcpCompound()
    assert.ok(parseRtcp(reports.packet.subarray(0, reports.due(now)), compound))
    return compound.hasSenderInfo
  }
  reports.due(0)
  sender.write(0, 160)
  assert.equal([10_000, 20_000, 30_000, 40_000].map(isSender), [true, true, false, false])
  sender.write(0, 160)
  assert.equal([50_000, 60_000, 70_000].map(isSender), [true, true, false])
})

test('what is lost of the far end stands in the report block and in the quality', () => {
  const { reports } = newReports()
  receive(reports, 101, [10, 20, 30, 40])
  const block = firstReport(reports).compound.blockAbout(0x9999)
  assert.is(block?.cumulativeLost, 4)
  const quality = reports.quality('PCMU')
  assert.is(quality.packetsLost, 4)
  assert.ok(quality.lossPct > 3.5 && quality.lossPct < 4.5, `${quality.lossPct} %`)
  assert.ok(quality.mos !== null && quality.mos < 4.3 && quality.mos > 3, `${quality.mos}`)
})

test('the round trip is what the far end did not hold the report for', () => {
  const { reports, sender } = newReports()
  sender.write(0, 160)
  const sentAt = 1000
  const wallMs = performance.timeOrigin + sentAt
  const answer = new Uint8Array(512)
  const length = writeReport(
    answer,
    0x9999,
    null,
    {
      ssrc: sender.ssrc,
      fractionLost: 0,
      cumulativeLost: 0,
      highestSequence: 1,
      jitter: 0,
      lastSr: ntpMiddle(wallMs),
      delaySinceLastSr: 65_536 / 2,
    },
    'far',
  )
  assert.is(reports.receive(answer.subarray(0, length), -1, sentAt + 580), 'report')
  assert.ok(Math.abs(reports.quality('PCMU').roundTripMs! - 80) < 1)
})

test('a malformed report is refused', () => {
  assert.is(newReports().reports.receive(Uint8Array.of(0x80, 200, 0xff, 0xff), -1, 0), 'bad')
})

test.run()
