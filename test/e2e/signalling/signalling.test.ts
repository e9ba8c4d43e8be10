// Sleeps most: it waits most of the time, and judges only sounds that last.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { untilQuiet } from '../../../bench/members.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { Product } from '../../../bench/product.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { suite } from '../../harness.ts'
import { callFrom, curtain, endedCall, HEARD_DBOV, leave, newRoom, seat, UNHEARD_DBOV } from '../scene.ts'

const MAX_CALLS = 6
const SLOW = { timeoutMs: 60_000 }

const test = suite('e2e/signalling/signalling')
let product: Product
let phone: Phone

test.before(async () => {
  product = await Product.start({ env: { TANDEM_MAX_CALLS: String(MAX_CALLS) } })
  phone = await Phone.open('signaller')
})
test.after(() => curtain(product))

test('a number that no route matches is answered 404', async () => {
  const call = await phone.dial('9999', product.sip)
  assert.is((await call.outcome).status, 404)
})

test('an INVITE that offers no codec of ours is answered 488', async () => {
  const call = await phone.dial('1002', product.sip, { codecs: [] })
  assert.is((await call.outcome).status, 488)
})

test('a 488 says by a Warning why (RFC 3261 §21.4.26)', async () => {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  const sdp = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 9\r\n'
  const invite = [
    `INVITE sip:1002@${product.sip.host} SIP/2.0`,
    `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bKwarned`,
    'Max-Forwards: 70',
    'From: <sip:warned@127.0.0.1>;tag=1',
    `To: <sip:1002@${product.sip.host}>`,
    'Call-ID: warned@127.0.0.1',
    'CSeq: 1 INVITE',
    `Contact: <sip:warned@127.0.0.1:${port}>`,
    'Content-Type: application/sdp',
    `Content-Length: ${sdp.length}`,
    '',
    sdp,
  ].join('\r\n')
  const refused = new Promise<string>(resolve => {
    socket.on('message', bytes => {
      if (/^SIP\/2\.0 [3-6]/.test(bytes.toString())) resolve(bytes.toString())
    })
  })
  socket.send(invite, product.sip.port, product.sip.host)
  const answer = await refused
  assert.match(answer, /^SIP\/2\.0 488 /)
  assert.match(answer, /^Warning: 305 \S+ "Incompatible media format"\r$/m)
  socket.close()
})

test('an INVITE that is cancelled ends with 487, or with a BYE when the answer was faster', async () => {
  const canceller = await Phone.open('canceller')
  const call = await canceller.dial('1002', product.sip)
  call.cancel()
  const outcome = await call.outcome
  assert.is(outcome.status, 487)
  const { id } = await callFrom(product, 'canceller')
  assert.is((await endedCall(product, id)).ended_reason, 'caller_hangup')
})

for (const transport of ['udp', 'tcp'] as const) {
  test(
    `a call over ${transport} is answered, heard and hung up, with early and with late offer`,
    async () => {
      for (const lateOffer of [false, true]) {
        const call = await phone.call('1002', product.sip, { transport, lateOffer })
        call.say(tone(330))
        await untilHeard('itself is heard', call, 330)
        const { id } = await callFrom(product, 'signaller')
        await call.hangup()
        assert.is((await endedCall(product, id)).ended_reason, 'caller_hangup')
      }
    },
    SLOW,
  )
}

/** Waits until a tone is heard, since on a busy machine it comes late and has gaps. @returns what was heard */
const untilHeard = (what: string, call: PhoneCall, hz: number): Promise<Int16Array> =>
  product.until(what, async () => {
    const heard = await call.heard.next(500, 300)
    return levelAt(hz, heard) > HEARD_DBOV ? heard : null
  })

test(
  'RFC 3264 §8.4: hold by sendonly is answered recvonly, by inactive inactive, and the call is resumed by sendrecv',
  async () => {
    const room = await newRoom(product)
    const anna = await seat(product, room, 'holder')
    const ben = await seat(product, room, 'held')
    await untilQuiet([anna.call, ben.call])
    anna.call.say(tone(330))
    ben.call.say(tone(440))
    const status = async (): Promise<string> => (await product.ok('GET', `/calls/${anna.callId}`)).status

    assert.is(await anna.call.hold('sendonly'), 200)
    assert.is(anna.call.remoteDirection, 'recvonly')
    await product.until('the call is held', async () => ((await status()) === 'held' ? true : null))
    const heardWhenHeld = anna.call.packets.length
    await untilHeard('sendonly: it is still heard', ben.call, 330)
    assert.ok(anna.call.packets.length - heardWhenHeld < 25, 'nothing is sent to who does not listen')

    assert.is(await anna.call.hold('inactive'), 200)
    assert.is(anna.call.remoteDirection, 'inactive')
    assert.ok(levelAt(330, await ben.call.heard.next(1000, 300)) < UNHEARD_DBOV, 'inactive: it is not heard')

    assert.is(await anna.call.resume(), 200)
    assert.is(anna.call.remoteDirection, 'sendrecv')
    await product.until('the call is resumed', async () => ((await status()) === 'in_progress' ? true : null))
    // The clock of the stream has run on in the meantime: the first packet says how far.
    await anna.call.heard.next(20)
    const [atAnna, atBen] = await Promise.all([
      untilHeard('the other one is heard', anna.call, 440),
      untilHeard('the other one is heard', ben.call, 330),
    ])
    assert.ok(levelAt(330, atAnna) < UNHEARD_DBOV && levelAt(440, atBen) < UNHEARD_DBOV)
    await leave(anna, ben)
  },
  SLOW,
)

for (const [status, callStatus, reason] of [
  [486, 'busy', 'busy'],
  [488, 'failed', 'codec_mismatch'],
  [404, 'failed', 'not_found'],
  [603, 'failed', 'rejected'],
] as const) {
  test(`a dialled phone that answers ${status} makes the call ${callStatus}, ended_reason ${reason}`, async () => {
    const callee = await Phone.open('refuser')
    const placed = await product.ok('POST', '/calls', { to: callee.uri })
    const call = await callee.next()
    call.reject(status)
    const ended = await endedCall(product, placed.id)
    assert.is(ended.status, callStatus)
    assert.is(ended.ended_reason, reason)
    assert.is(ended.sip_code, status)
    await callee.close()
  })
}

test(
  'a dialled phone that does not answer in timeout_s gets a CANCEL: the call ends as no_answer',
  async () => {
    const callee = await Phone.open('sleeper')
    const placed = await product.ok('POST', '/calls', { to: callee.uri, timeout_s: 5 })
    const call = await callee.next()
    call.ring()
    assert.is((await call.ended).cause, 'cancel')
    const ended = await endedCall(product, placed.id)
    assert.is(ended.status, 'no_answer')
    assert.is(ended.ended_reason, 'no_answer')
    await callee.close()
  },
  SLOW,
)

test(
  'above TANDEM_MAX_CALLS callers get 503 with Retry-After, REST 429, and below it calls are taken again',
  async () => {
    const calls = await Promise.all(Array.from({ length: MAX_CALLS }, () => phone.call('1002', product.sip)))
    const refused = await (await phone.dial('1002', product.sip)).outcome
    assert.is(refused.status, 503)
    assert.ok('retryAfterS' in refused && refused.retryAfterS !== null && refused.retryAfterS > 0)
    const newest = async () => (await product.ok('GET', '/events?limit=1')).data[0].id
    const before = await newest()
    const answer = await product.api('POST', '/calls', { to: phone.uri })
    assert.is(answer.status, 429)
    assert.is(await newest(), before, 'it has left nothing')
    assert.is(answer.body.error.code, 'capacity_exhausted')
    assert.ok(Number(answer.headers.get('retry-after')) > 0)
    for (let n = 0; n < 3; n++) assert.is((await (await phone.dial('1002', product.sip)).outcome).status, 503)
    await calls[0]!.hangup()
    const { id } = await callFrom(product, 'signaller')
    assert.ok(id)
    await product.until('a call is taken again', async () => {
      const call = await phone.dial('1002', product.sip)
      return (await call.outcome).status === 200 ? true : null
    })
    // One line for the first, and one for all that came in the next ten seconds.
    const logged = (message: string) =>
      product.output.split('\n').flatMap(line => (line.includes(`"msg":"${message}"`) ? [JSON.parse(line)] : []))
    const [sum] = await product.until('the others are summed up', async () => {
      const lines = logged('calls were refused')
      return lines.length > 0 ? lines : null
    })
    const [first, ...more] = logged('a call was refused')
    assert.equal([first.reason, first.source, more.length], ['max_calls', '127.0.0.1', 0])
    assert.match(first.from, 'signaller')
    assert.match(first.to, 'sip:1002@')
    assert.ok(sum.count >= 3 && sum.sources['127.0.0.1'] === sum.count, JSON.stringify(sum))
    const [request] = logged('a request was refused')
    assert.equal([request.reason, request.operation], ['capacity_exhausted', 'createCall'])
  },
  SLOW,
)

test.run()
