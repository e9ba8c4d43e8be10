import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { writeReport } from '../../../media/rtp/rtcp.ts'
import { HEP_RTCP, HEP_SIP, hepPacket } from '../../../media/tracing/hep.ts'
import { HepSender } from '../../../media/tracing/hep-sender.ts'
import { rtcpJson } from '../../../media/tracing/rtcp-json.ts'
import { Tracer } from '../../../media/tracing/tracer.ts'
import { HepReader, readHep } from '../../fakes/hep-collector.ts'
import { suite } from '../../harness.ts'

const test = suite('media/tracing/hep')

const AGENT = { captureId: 2001, password: 'secret' }
const from = { host: '192.0.2.1', port: 5060 }
const to = { host: '192.0.2.2', port: 5062 }

test('a packet of HEP 3 is six octets and chunks of vendor 0, each with its type and length', () => {
  const packet = hepPacket(
    { captureId: 0x01020304, password: null },
    {
      type: HEP_SIP,
      isDatagram: true,
      from,
      to,
      at: 1_700_000_000_123.5,
      correlationId: 'abc',
      payload: Buffer.from('OK'),
    },
  )
  assert.is(
    packet.toString('hex'),
    [
      '48455033006e',
      '00000001000702',
      '00000002000711',
      '00000003000ac0000201',
      '00000004000ac0000202',
      '00000007000813c4',
      '00000008000813c6',
      '00000009000a6553f100',
      '0000000a000a0001e26c',
      '0000000b000701',
      '0000000c000a01020304',
      '000000110009616263',
      '0000000f00084f4b',
    ].join(''),
  )
})

test('addresses of IPv6, a password and what came over TCP stand in their chunks', () => {
  const packet = hepPacket(AGENT, {
    ...{ type: HEP_SIP, isDatagram: false, at: 1000, correlationId: null, payload: Buffer.from('x') },
    from: { host: '2001:db8::1', port: 5061 },
    to: { host: '2001:db8::2', port: 1 },
  })
  const { family, protocol, source, destination, password, correlationId } = readHep(packet)
  assert.equal([family, protocol, source, destination], [10, 6, '2001:db8::1', '2001:db8::2'])
  assert.equal([password, correlationId], ['secret', null])
})

test('what is too long for a packet is cut', () => {
  const payload = Buffer.alloc(70_000, 'a')
  const packet = hepPacket(AGENT, { type: HEP_SIP, isDatagram: true, from, to, at: 1, correlationId: 'a', payload })
  assert.ok(packet.length <= 65_000)
  assert.is(packet.readUInt16BE(4), packet.length)
})

test('reports of RTCP are told as JSON, with what the far end received of us', () => {
  const bytes = new Uint8Array(512)
  const block = {
    ssrc: 7,
    fractionLost: 12,
    cumulativeLost: 3,
    highestSequence: 99,
    jitter: 80,
    lastSr: 5,
    delaySinceLastSr: 6,
  }
  const length = writeReport(
    bytes,
    42,
    { wallMs: 1_700_000_000_000, rtpTimestamp: 160, packets: 10, octets: 1600 },
    block,
    'a@b',
  )
  const json = JSON.parse(rtcpJson(bytes.subarray(0, length))!)
  assert.equal([json.ssrc, json.type, json.report_count], [42, 200, 1])
  assert.equal([json.sender_information.packets, json.sender_information.octets], [10, 1600])
  assert.equal(json.report_blocks, [
    { source_ssrc: 7, highest_seq_no: 99, fraction_lost: 12, ia_jitter: 80, packets_lost: 3, lsr: 5, dlsr: 6 },
  ])
  assert.is(rtcpJson(Uint8Array.of(1, 2, 3)), null)
})

test('the collector hears of both directions with their addresses and the Call-ID, and of no secret', () => {
  const packets: Buffer[] = []
  const tracer = new Tracer({ agent: AGENT, sink: { send: packet => packets.push(packet), close: () => {} } })
  const text = 'INVITE sip:a SIP/2.0\r\ni: the-call\r\nAuthorization: Digest response="6629fae4"\r\n\r\n'
  const peer = { transport: 'udp' as const, host: to.host, port: to.port }
  tracer.sip(Buffer.from(text), false, peer, from)
  tracer.sip(Buffer.from(text), true, peer, from)
  const [received, sent] = packets.map(readHep)
  assert.equal([received!.source, received!.sourcePort, received!.destination], [to.host, to.port, from.host])
  assert.equal([sent!.source, sent!.destination, sent!.destinationPort], [from.host, to.host, to.port])
  for (const packet of [received!, sent!]) {
    assert.is(packet.correlationId, 'the-call')
    assert.match(packet.payload, 'response="********"')
  }
  tracer.trace.claim('the-call', 'part_1')
  const bytes = new Uint8Array(512)
  const length = writeReport(bytes, 42, null, null, 'a@b')
  tracer.rtcp({ legId: 'part_1', isSent: true, bytes: bytes.subarray(0, length), local: from, remote: to })
  assert.is(packets.length, 2, 'an empty report tells nothing')
  const full = writeReport(bytes, 42, { wallMs: 1, rtpTimestamp: 1, packets: 1, octets: 1 }, null, 'a@b')
  tracer.rtcp({ legId: 'part_1', isSent: true, bytes: bytes.subarray(0, full), local: from, remote: to })
  assert.equal([readHep(packets[2]!).type, readHep(packets[2]!).correlationId], [HEP_RTCP, 'the-call'])
})

test('the collector does not hear of a caller who is to be told to nobody', () => {
  const packets: Buffer[] = []
  const tracer = new Tracer({ agent: AGENT, sink: { send: packet => packets.push(packet), close: () => {} } })
  const peer = { transport: 'udp' as const, host: to.host, port: to.port }
  const of = (line: string, asked: string): Buffer =>
    Buffer.from(`${line}\r\nCall-ID: ${asked}\r\nFrom: <sip:ann@x>;tag=1\r\nPrivacy: ${asked}\r\n\r\n`)
  for (const asked of ['id', 'none']) {
    tracer.sip(of('INVITE sip:a SIP/2.0', asked), false, peer, from)
    tracer.sip(of('SIP/2.0 200 OK', asked), true, peer, from)
  }
  assert.equal(
    packets.map(packet => readHep(packet).payload.includes('ann')),
    [false, false, true, true],
  )
})

const counted = async (sender: HepSender, what: () => boolean): Promise<void> => {
  while (!what()) {
    sender.send(Buffer.from('HEP3'))
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

test('a collector is told over UDP, at an address of either family', async () => {
  for (const [type, host] of [
    ['udp4', '127.0.0.1'],
    ['udp6', '::1'],
  ] as const) {
    const socket = createSocket(type)
    socket.bind(0, host)
    await once(socket, 'listening')
    const came = once(socket, 'message')
    const sender = new HepSender({ transport: 'udp', host, port: socket.address().port })
    await counted(sender, () => sender.counters.packetsSent > 0)
    assert.is(String((await came)[0]), 'HEP3')
    sender.close()
    socket.close()
  }
})

test('over TCP the packets are a stream; while the collector is away they are dropped and counted, and it is found again', async () => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const reader = new HepReader()
  server.on('connection', socket => socket.on('data', bytes => reader.push(bytes)))
  const sender = new HepSender({ transport: 'tcp', host: '127.0.0.1', port })
  sender.send(Buffer.from('early'))
  assert.is(sender.counters.packetsDropped, 1, 'nobody waits for the connection')
  const packet = hepPacket(AGENT, {
    type: HEP_SIP,
    isDatagram: true,
    from,
    to,
    at: 1,
    correlationId: 'a',
    payload: Buffer.from('x'),
  })
  while (reader.packets.length < 3) {
    sender.send(packet)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  assert.is(reader.packets[2]!.payload, 'x')
  sender.close()
  server.close()
})

test('a collector that does not read costs a bounded amount of memory', async () => {
  const sockets: Socket[] = []
  const server = createServer(socket => sockets.push(socket.pause()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sender = new HepSender({ transport: 'tcp', host: '127.0.0.1', port })
  await counted(sender, () => sender.counters.packetsSent > 0)
  const before = sender.counters.packetsDropped
  for (let i = 0; i < 1000; i++) sender.send(Buffer.alloc(60_000))
  assert.ok(sender.counters.packetsDropped - before > 500)
  sender.close()
  for (const socket of sockets) socket.destroy()
  server.close()
})

test.run()
