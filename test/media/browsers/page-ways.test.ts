import * as assert from 'uvu/assert'
import type { BrowserLine } from '../../../media/browsers/browser.ts'
import { newBrowser } from '../../../media/browsers/browser.ts'
import { parsePageMessage } from '../../../media/browsers/browser-messages.ts'
import { PageWays } from '../../../media/browsers/page-ways.ts'
import { OwnAddresses } from '../../../media/kernel/own-addresses.ts'
import { suite } from '../../harness.ts'

const test = suite('media/browsers/page-ways')
const FINGERPRINT = Array.from({ length: 32 }, () => 'AB').join(':')
const OFFER = [
  'v=0',
  'o=- 1 2 IN IP4 127.0.0.1',
  's=-',
  't=0 0',
  'a=group:BUNDLE 0',
  'm=audio 9 UDP/TLS/RTP/SAVPF 111 0 126',
  'c=IN IP4 0.0.0.0',
  'a=ice-ufrag:page',
  'a=ice-pwd:0123456789012345678901',
  `a=fingerprint:sha-256 ${FINGERPRINT}`,
  'a=setup:actpass',
  'a=mid:0',
  'a=rtcp-mux',
  'a=rtpmap:111 opus/48000/2',
  'a=rtpmap:126 telephone-event/8000',
  '',
].join('\r\n')

/** A page in a call, the commands to its leg's thread, and the messages to the page. */
function page() {
  const asked: { name: string; body: { media?: { codec: string; dtmf: string } } }[] = []
  const told: { webrtc: { sdp: string | null } }[] = []
  const socket = { send: (bytes: Buffer) => told.push(JSON.parse(bytes.toString())) }
  const browser = newBrowser(
    {
      ...{ id: 'brw_1', as: 'phone', accountSid: 'org_1', format: 'l16_16000', phone: null },
      at: { host: '192.0.2.7', local: '192.0.2.1' },
    },
    socket as never,
  )
  const engine = {
    request: async (name: string, body: never) => {
      asked.push({ name, body })
      return name === 'leg.open_way' ? { port: 4000, ssrc: 7 } : {}
    },
  }
  const line = { legId: 'part_1', browser, engine } as unknown as BrowserLine
  const ways = new PageWays({ addresses: new OwnAddresses(['192.0.2.1'], ['198.51.100.1']), fingerprint: FINGERPRINT })
  return { ways, line, asked, told }
}

test('an offer is answered with our public address, Opus, and no keys of its own: those of pages are messages', async () => {
  const { ways, line, asked, told } = page()
  await ways.answer(line, OFFER)
  assert.equal(
    asked.map(({ name }) => name),
    ['leg.open_way', 'leg.connect'],
  )
  assert.equal([asked[1]?.body.media?.codec, asked[1]?.body.media?.dtmf], ['opus', 'info'])
  const sdp = told[0]?.webrtc.sdp ?? ''
  assert.ok(sdp.includes('a=candidate:1 1 udp 2130706431 198.51.100.1 4000 typ host'))
  assert.ok(sdp.includes('a=setup:passive') && !sdp.includes('telephone-event'))
})

test('what cannot be agreed on, and what comes too often, is answered with no SDP: the page goes on over its WebSocket', async () => {
  const { ways, line, told } = page()
  await ways.answer(line, 'v=0')
  assert.equal(told.pop()?.webrtc, { sdp: null })
  await ways.answer(line, OFFER.replace('UDP/TLS/RTP/SAVPF', 'RTP/AVP'))
  assert.equal(told.pop()?.webrtc, { sdp: null })
  for (let times = 0; times < 8; times++) await ways.answer(line, OFFER)
  assert.ok(told[0]?.webrtc.sdp !== null)
  assert.is(told.at(-1)?.webrtc.sdp, null)
})

test('an offer is text of a sensible length; anything else is no message', () => {
  const of = (webrtc: unknown) => parsePageMessage(JSON.stringify({ event: 'webrtc', webrtc }), 'part_1')
  assert.equal(of({ sdp: 'v=0' }), { event: 'webrtc', sdp: 'v=0' })
  for (const wrong of [{}, { sdp: 7 }, { sdp: 'x'.repeat(20_001) }, null, 'v=0']) assert.is(of(wrong), null)
})

test.run()
