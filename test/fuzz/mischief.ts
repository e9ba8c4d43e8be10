import type { Random } from './random.ts'
import { type Address, headerOf, offer, RawSocket, type Template } from './raw-caller.ts'

const METHODS = ['INVITE', 'OPTIONS', 'BYE', 'CANCEL', 'ACK', 'INFO', 'REGISTER', 'SUBSCRIBE', 'PRACK', 'UPDATE', 'FOO']

/** Opens a socket for raw messages, which hangs up every call that happens to be answered. */
export async function careless(): Promise<RawSocket> {
  let requests = 0
  const socket = await RawSocket.open((bytes, from) => {
    const text = bytes.toString('latin1')
    const [callId, to, from_] = [headerOf(text, 'Call-ID'), headerOf(text, 'To'), headerOf(text, 'From')]
    if (!text.startsWith('SIP/2.0 200') || !/INVITE/.test(headerOf(text, 'CSeq') ?? '')) return
    if (callId === null || to === null || from_ === null) return
    const cseq = Number.parseInt(headerOf(text, 'CSeq') ?? '1', 10) || 1
    for (const [method, number] of [
      ['ACK', cseq],
      ['BYE', cseq + 1],
    ] as const) {
      const lines = [
        `${method} sip:fuzz@${from.host}:${from.port} SIP/2.0`,
        `Via: SIP/2.0/UDP 127.0.0.1:${socket.port};branch=z9hG4bKend${++requests};rport`,
        `From: ${from_}`,
        `To: ${to}`,
        `Call-ID: ${callId}`,
        `CSeq: ${number} ${method}`,
        'Content-Length: 0\r\n\r\n',
      ]
      void socket.send(Buffer.from(lines.join('\r\n'), 'latin1'), from)
    }
  })
  return socket
}

/** The n-th request to `server`, as a caller at `port` would write it. */
export function template(random: Random, server: Address, port: number, n: number): Template {
  const method = random.chance(0.5) ? 'INVITE' : random.pick(METHODS)
  const hasOffer = method === 'INVITE' && random.chance(0.8)
  return {
    method,
    callId: `fuzz-${random.seed}-${n}`,
    branch: `z9hG4bKf${random.seed}x${n}`,
    user: random.pick(['1000', '1002', '1003', '9999']),
    host: '127.0.0.1',
    port,
    serverPort: server.port,
    fromTag: `t${n}`,
    ...(random.chance(0.2) ? { toTag: 'nobody' } : {}),
    ...(hasOffer ? { body: offer(40_000 + 2 * random.int(1000)) } : {}),
  }
}

/** Changes to SDP that leave it well-formed enough to be answered, with invalid numbers and addresses. */
export const DESCRIPTIONS: ((sdp: string) => string)[] = [
  sdp => sdp.replace(/m=audio \d+/, 'm=audio 0'),
  sdp => sdp.replace(/m=audio \d+/, 'm=audio 65535'),
  sdp => sdp.replace(/m=audio \d+/, 'm=audio 65536'),
  sdp => sdp.replace(/m=audio \d+/, 'm=audio 99999999999'),
  sdp => sdp.replace(/m=audio \d+/, 'm=audio -5'),
  sdp => sdp.replace(/m=audio \d+/, 'm=audio 5/2'),
  sdp => sdp.replace(/a=rtcp:\d+/, 'a=rtcp:0'),
  sdp => sdp.replace(/a=rtcp:\d+/, 'a=rtcp:70000'),
  sdp => sdp.replace(/a=rtcp:\d+/, 'a=rtcp:9 IN IP4 999.1.1.1'),
  sdp => sdp.replace(/a=rtcp:\d+/, 'a=rtcp:9 IN IP6 ::1'),
  sdp => sdp.replace('c=IN IP4 127.0.0.1', 'c=IN IP4 0.0.0.0'),
  sdp => sdp.replace('c=IN IP4 127.0.0.1', 'c=IN IP4 224.0.0.1/127'),
  sdp => sdp.replace('c=IN IP4 127.0.0.1', 'c=IN IP4 255.255.255.255'),
  sdp => sdp.replace('c=IN IP4 127.0.0.1', 'c=IN IP4 no.such.host.invalid'),
  sdp => sdp.replace('c=IN IP4 127.0.0.1', 'c=IN IP6 ::1'),
  sdp => sdp.replace('c=IN IP4 127.0.0.1', 'c=IN IP4 127.0.0.1%lo'),
  sdp => sdp.replace('c=IN IP4 127.0.0.1\r\n', ''),
  sdp => sdp.replace('RTP/AVP 0 8 101', 'RTP/AVP 0 0 0 101 101'),
  sdp => sdp.replace('RTP/AVP 0 8 101', `RTP/AVP ${'8 '.repeat(5000)}`),
  sdp => sdp.replace('RTP/AVP 0 8 101', 'RTP/AVP 300 -1 x'),
  sdp => sdp.replace('RTP/AVP', 'RTP/SAVP'),
  sdp => sdp.replace('101 telephone-event/8000', '0 telephone-event/8000'),
  sdp => sdp.replace('101 telephone-event/8000', '101 telephone-event/48000'),
  sdp => sdp.replace('a=ptime:20', 'a=ptime:0'),
  sdp => sdp.replace('a=ptime:20', 'a=ptime:99999999'),
  sdp => sdp.replace('a=ptime:20', 'a=rtcp-mux\r\na=rtcp:1'),
  sdp => sdp + 'm=audio 4000 RTP/AVP 0\r\n'.repeat(500),
  sdp => sdp.replace('s=-', `s=${'x'.repeat(30_000)}`),
  sdp => sdp.replaceAll('\r\n', '\n'),
  sdp => sdp.replaceAll('\r\n', '\r'),
  sdp => sdp.replace('v=0', 'v=1'),
  () => '',
  () => '\0\0\0\0',
]
