import * as assert from 'uvu/assert'
import { pcapOf } from '../../../../control/calls/tracing/pcap.ts'
import { PacketHeaders } from '../../../../media/rtp/packet-headers.ts'
import { readPcap } from '../../../fakes/pcap.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/calls/tracing/pcap')

const local = { host: '192.0.2.1', port: 5060 }
const remote = { host: '192.0.2.2', port: 5062 }
const six = { host: '2001:db8::1', port: 5060 }
const message = (at: number, text: string, isSent = false) => ({ at, isSent, transport: 'udp', local, remote, text })

test('messages and headers of all legs stand in the order in which they passed, in both families', () => {
  const headers = new PacketHeaders(1, 0, 2000)
  const rtp = Uint8Array.from({ length: 172 }, (_, i) => i)
  headers.note(true, rtp, rtp.length, '192.0.2.9', 4000, 5)
  headers.note(false, rtp, rtp.length, '192.0.2.9', 4000, 6.25)
  const { remotes, records } = headers.log()
  const packets = readPcap(
    pcapOf([
      {
        ...{ legId: 'part_1', dropped: 0 },
        messages: [message(1000.5, 'INVITE sip:a SIP/2.0\r\n\r\n'), message(3000, 'SIP/2.0 200 OK\r\n\r\n', true)],
        packets: {
          local: { host: '192.0.2.1', port: 20_000 },
          remotes,
          records: Buffer.from(records).toString('base64'),
        },
      },
      {
        ...{ legId: 'part_2', dropped: 0, packets: null },
        messages: [{ ...message(2500, 'BYE sip:b SIP/2.0\r\n\r\n'), local: six, remote: { ...six, port: 9 } }],
      },
    ]),
  )
  assert.equal(
    packets.map(({ at, from, to }) => `${at} ${from} > ${to}`),
    [
      '1000.5 192.0.2.2 5062 > 192.0.2.1 5060',
      '2005 192.0.2.1 20000 > 192.0.2.9 4000',
      '2006.25 192.0.2.9 4000 > 192.0.2.1 20000',
      '2500 2001:db8::1 9 > 2001:db8::1 5060',
      '3000 192.0.2.1 5060 > 192.0.2.2 5062',
    ],
  )
  assert.is(String(packets[0]!.payload), 'INVITE sip:a SIP/2.0\r\n\r\n')
  assert.equal([...packets[1]!.payload], [...rtp.subarray(0, 12)], 'nothing of what it carries')
  assert.is(packets[1]!.length, 172, 'but how long it was')
})

test('headers are written down for the time and the room that was asked for, and anew when asked again', () => {
  const rtp = new Uint8Array(172)
  const timed = new PacketHeaders(1, 1000, 0)
  for (const now of [1000, 1999, 2000]) timed.note(true, rtp, 172, 'a', 1, now)
  assert.is(timed.log().records.length / 24, 2)
  const full = new PacketHeaders(180, 0, 0)
  for (let i = 0; i < 25_000; i++) full.note(true, rtp, 172, 'a', 1, i)
  assert.is(full.log().records.length / 24, 19_800)
  const stopped = new PacketHeaders(10, 0, 0)
  stopped.note(true, rtp, 172, 'a', 1, 0)
  stopped.stop()
  stopped.note(true, rtp, 172, 'a', 1, 1)
  assert.is(stopped.log().records.length / 24, 1)
})

test('what is too long for a datagram is cut', () => {
  const [packet] = readPcap(
    pcapOf([{ legId: 'part_1', dropped: 0, packets: null, messages: [message(1, 'x'.repeat(70_000))] }]),
  )
  assert.is(packet!.length, 65_487)
})

test.run()
