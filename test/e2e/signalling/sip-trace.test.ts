import * as assert from 'uvu/assert'
import { memberNamed } from '../../../bench/members.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { HepCollector } from '../../fakes/hep-collector.ts'
import { type CapturedPacket, readPcap } from '../../fakes/pcap.ts'
import { suite } from '../../harness.ts'
import { callFrom, curtain, newRoom, seat } from '../scene.ts'

const test = suite('e2e/signalling/sip-trace')
let product: Product
let collector: HepCollector

test.before(async () => {
  collector = await HepCollector.listen()
  product = await Product.start({ env: { TANDEM_HEP_URL: collector.url } })
})
test.after(async () => {
  await curtain(product)
  collector?.close()
})

interface Shown {
  id: string
  direction: string
  transport: string
  start_line: string
  body: string | null
  local: { port: number }
  remote: { host: string; port: number }
}

/** The messages of a call, oldest first, each as direction and start line. */
async function messagesOf(callId: string): Promise<Shown[]> {
  const { data } = await product.ok('GET', `/calls/${callId}/sip?limit=100`)
  return data.reverse()
}
const linesOf = (messages: Shown[]): string[] =>
  messages.map(({ direction, start_line: line }) => `${direction} ${line.replace(/ sip:.*/, '')}`)

const WHOLE = [
  'received INVITE',
  'sent SIP/2.0 100 Trying',
  'sent SIP/2.0 200 OK',
  'received ACK',
  'received BYE',
  'sent SIP/2.0 200 OK',
]
/** Without a 180, which is sent if control does not decide at once. */
const withoutRinging = (lines: string[]): string[] => lines.filter(line => !/ 18\d /.test(line))

for (const transport of ['udp', 'tcp'] as const) {
  test(
    `over ${transport} a call's messages are shown while it runs, and all of them when it has ended`,
    async () => {
      const phone = await Phone.open(`trace-${transport}`)
      const call = await phone.call('1002', product.sip, { transport })
      const { id } = await callFrom(product, phone.name)
      const running = await messagesOf(id)
      assert.equal(withoutRinging(linesOf(running)).slice(0, 3), WHOLE.slice(0, 3))
      assert.is(running[0]!.transport, transport)
      assert.is(running[0]!.local.port, product.sip.port)
      assert.match(running[0]!.body!, /^v=0\r\n/)
      const others = running.filter(({ remote }) => remote.port !== running[0]!.remote.port)
      assert.equal(others, [], 'answers go where they are shown to go: back over the connection')
      await call.hangup()
      await product.until('the BYE and its answer are there', async () =>
        (await messagesOf(id)).length >= running.length + 2 ? true : null,
      )
      assert.equal(withoutRinging(linesOf(await messagesOf(id))), WHOLE)
    },
    { together: true },
  )
}

test(
  'a call that we place is shown from its INVITE on, and is the same once it is stored',
  async () => {
    const phone = await Phone.open('called')
    const ringing = phone.next()
    const { id } = await product.ok('POST', '/calls', { to: phone.uri })
    const call = await ringing
    call.answer()
    await call.confirmed
    await call.hangup()
    const shown = await product.until('the BYE is answered', async () => {
      const messages = await messagesOf(id)
      return linesOf(messages).at(-1) === 'sent SIP/2.0 200 OK' ? messages : null
    })
    assert.is(linesOf(shown)[0], 'sent INVITE')
    assert.is(shown[0]!.remote.port, phone.port)
    await product.until('media has handed it over', async () => {
      const metrics = await (await fetch(`${product.baseUrl}/metrics`)).text()
      return /tandem_\w*sip_traces\{?[^\n]* 0\n/.test(metrics) ? true : null
    })
    assert.equal(await messagesOf(id), shown)
  },
  { timeoutMs: 60_000, together: true },
)

test(
  'the capture file has the messages and, where it was asked for, the headers of RTP packets of both directions and no more of them',
  async () => {
    const room = await newRoom(product)
    const { call, callId } = await seat(product, room, 'captured')
    await product.ok('POST', `/calls/${callId}/sip/rtp`, { action: 'start', max_seconds: 30 })
    await call.heard.next(500)
    await call.press('5', { as: 'rfc4733' })
    const isRtp = ({ length, payload }: CapturedPacket): boolean => payload.length === 12 && length > 12
    const running = readPcap(await product.download(`/calls/${callId}/sip.pcap`))
    assert.ok(running.filter(isRtp).length >= 20, `${running.filter(isRtp).length} of a running call`)
    await call.hangup()
    const packets = readPcap(await product.download(`/calls/${callId}/sip.pcap`))
    const rtp = packets.filter(isRtp)
    assert.ok(rtp.length >= running.filter(isRtp).length)
    for (const { payload } of rtp) assert.is(payload[0]! >> 6, 2, 'it is RTP')
    assert.is(new Set(rtp.map(({ from }) => from)).size, 2, 'both directions')
    assert.ok(
      rtp.some(({ payload, length }) => length === 16 && (payload[1]! & 0x7f) >= 96),
      'the key is a header',
    )
    assert.is(
      packets.filter(packet => !isRtp(packet)).every(({ length, payload }) => length === payload.length),
      true,
    )
    assert.match(String(packets[0]!.payload), /^INVITE /)
  },
  { together: true },
)

test(
  'the collector is told of SIP in both directions over both transports and of RTCP, all with the Call-ID',
  async () => {
    const room = await newRoom(product)
    const { call, callId } = await seat(product, room, 'reported')
    await memberNamed(product, room.roomId, 'reported')
    const [invite] = await messagesOf(callId)
    await call.heard.next(300)
    await call.hangup()
    const { data } = await product.ok('GET', `/calls/${callId}/sip?limit=100`)
    const callIdOf = (headers: { name: string; value: string }[]): string =>
      headers.find(({ name }) => name === 'Call-ID')!.value
    const correlation = callIdOf(data[0].headers)
    const of = () => collector.packets.filter(packet => packet.correlationId === correlation)
    await product.until('the report and the BYE have come', async () =>
      of().some(({ type }) => type === 5) && of().some(({ payload }) => payload.startsWith('BYE')) ? true : null,
    )
    const [first] = of()
    assert.match(first!.payload, /^INVITE /)
    assert.equal([first!.type, first!.captureId, first!.password], [1, 2001, 'collector'])
    assert.equal([first!.sourcePort, first!.destinationPort], [invite!.remote.port, product.sip.port])
    const report = JSON.parse(of().find(({ type }) => type === 5)!.payload)
    assert.ok([200, 201].includes(report.type))
    await product.until('calls over TCP are told of too', async () =>
      collector.packets.some(({ protocol }) => protocol === 6) ? true : null,
    )
  },
  { together: true },
)

test.run()
