import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { on, once } from 'node:events'
import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import { invited } from '../e2e/scene.ts'
import { product } from '../e2e/shared-suite.ts'
import { hangUp, inside, insideCalled } from './peers/raw-calls.ts'
import { audioAt, bodyOf, field } from './peers/raw-peer.ts'
import { calls, rawSuite } from './peers/raw-suite.ts'
import { BEGINS } from './peers/raw-trunk.ts'

/** What programs of this machine do not say: far ends that write each byte themselves. */

const test = rawSuite('interop/raw-far-end')

test('a message without a length over a connection is answered 400 before that is closed (RFC 3261 §18.3)', async () => {
  const peer = await calls.peer('tcp')
  for (const length of [[], ['Content-Length: many']]) {
    peer.send(calls.inviteFrom(peer, 'TCP', '', length), product.sip.port)
    const refused = await peer.next('\\d+')
    assert.is(refused.what, '400')
    await peer.next('closed')
  }
})

test('an offer of every payload type there is, and of more, is answered with what we have of it', async () => {
  const peer = await calls.peer()
  const unknown = Array.from({ length: 95 }, (_, i) => i + 20).filter(type => type < 35 || type > 71)
  const formats = [...unknown, 0, ...Array.from({ length: 80 }, (_, i) => i + 200)]
  const answer = await calls.answered(peer, { body: audioAt(6000, formats.join(' ')) })
  assert.match(bodyOf(answer.text), /^m=audio \d+ RTP\/AVP 0\r?$/m)
  await hangUp(peer, answer)
})

test('a 305 has the same Request-URI sent through the proxy that it names (RFC 3261 §21.3.4)', async () => {
  const [carrier, proxy] = [await calls.peer(), await calls.peer()]
  const id = await calls.callOver(carrier, { follow_redirects: true })
  const first = await carrier.takes('INVITE', '305 Use Proxy', [`Contact: <sip:127.0.0.1:${proxy.port}>`])
  await carrier.next('ACK')
  const second = await proxy.next('INVITE')
  assert.is(second.text.split('\r\n')[0], first.text.split('\r\n')[0])
  assert.is(field(second.text, 'route'), `<sip:127.0.0.1:${proxy.port};lr>`)
  assert.is(field(second.text, 'diversion'), '')
  second.answer('486 Busy Here')
  await proxy.next('ACK')
  assert.is((await calls.endOf(id)).status, 'busy')
})

test('where the first proxy of a 305 is silent the call goes by way of the next', async () => {
  const [carrier, silent, proxy] = [await calls.peer(), await calls.peer(), await calls.peer()]
  const id = await calls.callOver(carrier, { follow_redirects: true })
  const first = await carrier.next('INVITE')
  const contacts = `Contact: <sip:127.0.0.1:${proxy.port}>;q=0.5, <sip:127.0.0.1:${silent.port};lr>;q=0.9`
  first.answer('305 Use Proxy', [contacts])
  await silent.next('INVITE')
  const second = await proxy.next('INVITE')
  assert.is(field(second.text, 'route'), `<sip:127.0.0.1:${proxy.port};lr>`)
  second.answer('486 Busy Here')
  assert.is((await calls.endOf(id)).status, 'busy')
})

test('where a contact of a 302 is silent, or sends on to somebody busy, the next one is called, by `q` (RFC 3261 §8.1.3.4)', async () => {
  const [carrier, silent, moved, busy, last] = await Promise.all(Array.from({ length: 5 }, () => calls.peer()))
  const at = ({ port }: { port: number }): string => `<sip:bob@127.0.0.1:${port}>`
  const id = await calls.callOver(carrier!, { follow_redirects: true })
  const first = await carrier!.next('INVITE')
  const contacts = `Contact: ${at(last!)};q=0.1, ${at(moved!)};q=0.5, ${at(silent!).replace('>', '?Subject=x&Replaces=y>')}`
  first.answer('302 Moved Temporarily', [contacts])
  const named = await silent!.next('INVITE')
  // Headers are no part of a Request-URI or To (§19.1.1), and none of ours are a stranger's words.
  const uri = at(silent!).slice(1, -1)
  assert.equal([named.text.split(' ')[1], field(named.text, 'to')], [uri, `<${uri}>`])
  await moved!.takes('INVITE', '302 Moved Temporarily', [`Contact: ${at(busy!)}`])
  await busy!.takes('INVITE', '486 Busy Here')
  await last!.takes('INVITE', '603 Decline')
  assert.is((await calls.endOf(id)).sip_code, 603)
})

for (const [why, followRedirects, contact] of [
  ['redirections are not followed', false, '<sip:127.0.0.1:9>'],
  ['it names no proxy', true, '<tel:+15550000000>'],
] as const) {
  test(`a 305 ends the call where ${why}`, async () => {
    const carrier = await calls.peer()
    const id = await calls.callOver(carrier, { follow_redirects: followRedirects })
    await carrier.takes('INVITE', '305 Use Proxy', [`Contact: ${contact}`])
    assert.is((await calls.endOf(id)).sip_code, 305)
  })
}

test('a 302 to a number that the connection has no rate for, or that must not be called, is not followed', async () => {
  const [peer, named] = [await calls.peer(), await calls.peer()]
  const fields = { follow_redirects: true, rates: [{ prefix: '+4978', cost: 0 }] }
  await calls.connection(peer, fields)
  await product.ok('POST', '/do_not_call', { phone: '+497899' })
  for (const number of ['+447911', '+497899']) {
    const { id } = await product.ok('POST', '/calls', { to: '+497811' })
    await peer.takes('INVITE', '302 Moved Temporarily', [`Contact: <sip:${number}@127.0.0.1:${named.port}>`])
    await peer.next('ACK')
    assert.is((await calls.endOf(id)).ended_reason, 'redirect_refused', number)
  }
  assert.equal(named.received, [])
})

test('a number with its trunk zero and a phone-context is the number that it is dialled for (RFC 3966 §5.1.5)', async () => {
  const peer = await calls.peer()
  await calls.route('+49309876543', { type: 'echo' })
  // And those with parameters, which carriers add without `user=phone`.
  for (const uri of [
    'tel:030-9876543;phone-context=+49',
    'sip:030-9876543;phone-context=+49@127.0.0.1',
    'sip:+49309876543;npdi;rn=+4930111@127.0.0.1',
  ]) {
    await hangUp(peer, await calls.answered(peer, { to: uri }))
  }
  const called = await calls.callOver(peer, {}, 'tel:030-1234567;phone-context=+49')
  const ours = await peer.next('INVITE')
  assert.match(ours.text, /^INVITE sip:\+49301234567@/)
  ours.answer('486 Busy Here')
  assert.is((await calls.endOf(called)).to, '+49301234567')
})

test('a far end that demands `auth-int` is answered for the description too (RFC 7616 §3.4.3)', async () => {
  const carrier = await calls.peer()
  const id = await calls.callOver(carrier, { auth: { username: 'u', password: 'secret of both' } })
  await carrier.takes('INVITE', '401 Unauthorized', ['WWW-Authenticate: Digest realm="r", nonce="n", qop="auth-int"'])
  await carrier.next('ACK')
  const second = await carrier.next('INVITE')
  const given = field(second.text, 'authorization')
  const [cnonce, uri] = ['cnonce', 'uri'].map(name => new RegExp(`\\b${name}="([^"]*)"`).exec(given)?.[1])
  const md5 = (text: string): string => createHash('md5').update(text, 'latin1').digest('hex')
  const ha2 = md5(`INVITE:${uri}:${md5(bodyOf(second.text))}`)
  assert.match(given, `response="${md5(`${md5('u:r:secret of both')}:n:00000001:${cnonce}:auth-int:${ha2}`)}"`)
  second.answer('486 Busy Here')
  assert.is((await calls.endOf(id)).status, 'busy')
})

test('a far end whose Contact is `sips:` though it was called over UDP gets its ACK and its BYE (RFC 3261 §13.2.2.4)', async () => {
  const carrier = await calls.peer()
  const id = await calls.callOver(carrier)
  const invite = await carrier.next('INVITE')
  const contact = [`Contact: <sips:far@127.0.0.1:${carrier.port}>`, 'Content-Type: application/sdp']
  invite.answer('200 OK', contact, audioAt(6000))
  assert.match((await carrier.next('ACK')).text, `ACK sips:far@127.0.0.1:${carrier.port} SIP/2.0`)
  await product.ok('POST', `/calls/${id}/hangup`)
  await carrier.takes('BYE')
})

for (const [sentence, transport, more, body, goesOn] of [
  [
    'a header of 9,000 octets is answered, as if it were without it',
    'udp',
    [`X-Long: ${'a'.repeat(9000)}`],
    audioAt(6000),
    true,
  ],
  ['200 headers too', 'udp', Array.from({ length: 200 }, (_, i) => `X-${i}: a`), audioAt(6000), true],
  [
    '40,000 octets of headers gets its ACK, and a BYE',
    'tcp',
    Array.from({ length: 5 }, () => `X-Long: ${'a'.repeat(8000)}`),
    audioAt(6000),
    false,
  ],
  ['a body of 70,000 octets does too', 'tcp', [], 'a'.repeat(70_000), false],
] as const) {
  test(`a 200 with ${sentence} (RFC 3261 §13.2.2.4)`, async () => {
    const carrier = await calls.peer(transport)
    const id = await calls.callOver(carrier, { transport })
    const invite = await carrier.next('INVITE')
    const contact = `Contact: <sip:far@127.0.0.1:${carrier.port};transport=${transport}>`
    invite.answer('200 OK', [contact, 'Content-Type: application/sdp', ...more], body)
    await carrier.next('ACK')
    if (goesOn) await product.ok('POST', `/calls/${id}/hangup`)
    await carrier.takes('BYE')
    assert.is((await calls.endOf(id)).ended_reason, goesOn ? 'api_hangup' : 'codec_mismatch')
  })
}

test('audio is sent to no multicast, broadcast or unusable address: 488 with Warning 330, and the end of a call that is answered so (RFC 3261 §20.43)', async () => {
  const group = audioAt(6000).replace('c=IN IP4 127.0.0.1', 'c=IN IP4 224.2.1.1/127')
  for (const host of ['224.2.1.1/127', '255.255.255.255', '0.1.2.3']) {
    const far = await calls.peer()
    calls.invite(far, { body: group.replace('224.2.1.1/127', host) })
    const refused = await far.next('[2-6]\\d\\d')
    assert.is(refused.what, '488', host)
    assert.match(field(refused.text, 'warning'), /^330 /)
  }

  const peer = await calls.peer()
  const answer = await calls.answered(peer)
  const change = ['Contact: <sip:far@127.0.0.1>', 'Content-Type: application/sdp']
  answer.reply(inside(answer, 'INVITE', 2, change, group.replace('224.2.1.1/127', '255.255.255.255')))
  assert.is((await peer.next('[2-6]\\d\\d')).what, '488')
  // The call has gone on.
  await hangUp(peer, answer, 3)

  const carrier = await calls.peer()
  const id = await calls.callOver(carrier)
  const invite = await carrier.next('INVITE')
  const contact = [`Contact: <sip:far@127.0.0.1:${carrier.port}>`, 'Content-Type: application/sdp']
  invite.answer('200 OK', contact, group)
  await carrier.next('ACK')
  await carrier.takes('BYE')
  assert.is((await calls.endOf(id)).ended_reason, 'codec_mismatch')
})

test('an INFO of a package that we do not know is answered 469, keys of whatever package are keys (RFC 6086 §4.2.2)', async () => {
  const peer = await calls.peer()
  const answer = await calls.answered(peer)
  for (const [cseq, fields, body, status] of [
    [2, ['Info-Package: nobody-knows', 'Content-Type: application/x'], 'x', '469'],
    [3, ['Info-Package: nobody-knows'], '', '469'],
    [4, ['Content-Type: application/x'], 'x', '415'],
    [5, ['Info-Package: dtmf', 'Content-Type: application/dtmf-relay'], 'Signal=1\r\nDuration=100\r\n', '200'],
    [6, [], '', '200'],
    [7, ['Content-Type: application/dtmf-relay'], 'Signal=Q\r\nDuration=100\r\n', '400'],
  ] as const) {
    answer.reply(inside(answer, 'INFO', cseq, [...fields], body))
    const told = await peer.next('[2-6]\\d\\d')
    assert.is(told.what, status, fields.join())
    assert.is(/^Recv-Info:\s*$/m.test(told.text), status === '469')
  }
  await hangUp(peer, answer, 8)
})

test('a key by INFO over a connection whose keys come by RFC 4733 alone is refused with 415', async () => {
  const peer = await calls.peer()
  await calls.callOver(peer, { dtmf_mode: 'rfc4733' })
  const invite = await peer.next('INVITE')
  const contact = `Contact: <sip:far@127.0.0.1:${peer.port}>`
  const ok = invite.answer('200 OK', [contact, 'Content-Type: application/sdp'], audioAt(6012))
  const ack = await peer.next('ACK')
  const relay = ['Content-Type: application/dtmf-relay']
  ack.reply(insideCalled(invite, ok, 'INFO', 1, relay, 'Signal=1\r\nDuration=100\r\n'))
  const told = await peer.next('[2-6]\\d\\d')
  assert.is(told.what, '415')
  assert.match(told.text, /^Accept: application\/sdp, multipart\/mixed\r$/m)
  ack.reply(insideCalled(invite, ok, 'BYE', 2))
  await peer.next('200')
})

test('what a caller says for the called user, and the identity of its session, go on with its call (RFC 7433, RFC 7989); nothing else of its network does', async () => {
  const [peer, carrier] = [await calls.peer(), await calls.peer()]
  await calls.connection(carrier)
  const [called, onward] = ['+49309876544', '+49301112223']
  await calls.route(called, await calls.emptyQueue({ when_no_agents: true, action: 'number', number: onward }))
  const [data, session] = ['56a390f3d2b7310023a2;encoding=hex', 'ab30317f1a784dc48ff824d0d3715d86']
  for (const [more, passed] of [
    [
      [
        `User-to-User: ${data}`,
        `Session-ID: ${session.toUpperCase()};remote=00000000000000000000000000000000`,
        'P-Charging-Vector: icid-value=1234',
        'Geolocation: <https://ls.example.com/1>',
      ],
      [data, `${session};remote=${'0'.repeat(32)}`],
    ],
    [
      [`User-to-User: ${'56'.repeat(300)};encoding=hex`, 'Session-ID: nobody knows'],
      ['', ''],
    ],
  ] as const) {
    calls.invite(peer, { to: called, more })
    const forwarded = await carrier.next('INVITE')
    assert.match(forwarded.text, `INVITE sip:${onward}@`)
    assert.equal(
      ['user-to-user', 'session-id', 'p-charging-vector', 'geolocation'].map(name => field(forwarded.text, name)),
      [...passed, '', ''],
    )
    forwarded.answer('486 Busy Here')
    await carrier.next('ACK')
    const answer = await peer.next('[2-6]\\d\\d')
    if (answer.what === '200') {
      answer.reply(inside(answer, 'ACK', 1))
      await hangUp(peer, answer)
    }
  }
})

test('a flow tells the payment line what is due (RFC 7433), in the place of what its caller says', async () => {
  const [peer, carrier] = [await calls.peer(), await calls.peer()]
  await calls.connection(carrier)
  const [called, line] = ['+49309876546', '+49301112225']
  await product.ok('PATCH', '/organisation', { pci: { enabled: true } })
  const due = { amount: '12.50', currency: 'EUR', description: 'Invoice 4711' }
  const to = (next: string) => [{ condition: { kind: 'always' }, next }]
  const nodes = [
    { key: 'start', type: 'start', transitions: to('pay') },
    { key: 'pay', type: 'payment', payment: due, target: { type: 'number', id: line }, transitions: to('end') },
    { key: 'end', type: 'end' },
  ]
  const flow = await product.ok('POST', '/flows', { name: 'Pay', kind: 'ivr', graph: { nodes } })
  await product.ok('POST', `/flows/${flow.id}/publish`, {})
  await calls.route(called, { type: 'flow', id: flow.id })
  calls.invite(peer, { to: called, more: ['User-to-User: 56a390f3;encoding=hex'] })
  const asked = await carrier.next('INVITE')
  assert.match(asked.text, `INVITE sip:${line}@`)
  const told = field(asked.text, 'user-to-user').split(';encoding=hex')
  assert.equal([JSON.parse(Buffer.from(told[0]!, 'hex').toString()), told[1]], [due, ''])
  assert.is(asked.text.match(/^user-to-user:/gim)?.length, 1)
  asked.answer('486 Busy Here')
  await carrier.next('ACK')
  const answer = await peer.next('[2-6]\\d\\d')
  answer.reply(inside(answer, 'ACK', 1))
  await hangUp(peer, answer)
})

test('what the called user says for the caller goes back with the answer, the refusal and the BYE, and so does what the caller says with its BYE (RFC 7433)', async () => {
  const [peer, carrier] = [await calls.peer(), await calls.peer()]
  await calls.connection(carrier)
  const [called, onward] = ['+49309876545', '+49301112224']
  const queue = await calls.emptyQueue({ when_no_agents: true, action: 'number', number: onward })
  await calls.route(called, queue, { answer: 'when_answered' })
  const uui = (data: string): string => `User-to-User: ${data};encoding=hex`
  const told = (text: string): string => field(text, 'user-to-user').replace(';encoding=hex', '')
  const forwarded = async () => {
    calls.invite(peer, { to: called })
    return carrier.next('INVITE')
  }
  const own = [`Contact: <sip:far@127.0.0.1:${carrier.port}>`, 'Content-Type: application/sdp']
  for (const isCarrier of [true, false]) {
    const invite = await forwarded()
    const ok = invite.answer('200 OK', [...own, uui('aa')], audioAt(6002))
    const ack = await carrier.next('ACK')
    const answer = await peer.next('200')
    assert.is(told(answer.text), 'aa')
    answer.reply(inside(answer, 'ACK', 1))
    if (isCarrier) {
      // As the called side of its dialog it says From and To the other way round.
      const bye = inside({ text: invite.text }, 'BYE', 1, [uui('bb')])
      const [from, to] = [field(ok, 'to'), field(ok, 'from')]
      ack.reply(bye.replace(/^from: .*$/m, `From: ${from}`).replace(/^to: .*$/m, `To: ${to}`))
      const heard = await peer.next('BYE')
      assert.is(told(heard.text), 'bb')
      heard.answer('200 OK')
    } else {
      answer.reply(inside(answer, 'BYE', 2, [uui('cc')]))
      const heard = await carrier.next('BYE')
      assert.is(told(heard.text), 'cc')
      heard.answer('200 OK')
      await peer.next('200')
    }
  }
  const last = await forwarded()
  last.answer('486 Busy Here', [uui('dd')])
  const refused = await peer.next('[2-6]\\d\\d')
  assert.is(told(refused.text), 'dd')
})

test('what a REFER says for whom it names goes on with the call there (RFC 7433 §3.3); no other header in its Refer-To does', async () => {
  const talk = await BEGINS['whom we have called'](product, calls, [], { transfers: 'bridge' })
  const { peer, host, prefix, contact, theirs, send } = talk
  const more = 'User-to-User=56a390f3%3Bencoding%3Dhex%0D%0AX-Injected%3A%201&Subject=no'
  send(theirs('REFER', 1, [contact, `Refer-To: <sip:${prefix}12@${host}:${peer.port}?${more}>`]))
  const second = await peer.next('INVITE')
  assert.match(second.text, `INVITE sip:${prefix}12@`)
  assert.equal(
    ['user-to-user', 'x-injected', 'subject'].map(name => field(second.text, name)),
    ['56a390f3;encoding=hex X-Injected: 1', '', ''],
  )
  second.answer('486 Busy Here')
  await peer.next('ACK')
  send(theirs('BYE', 2))
  await peer.next('200')
})

test('follow: an attended transfer whose two calls are over one connection is completed by REFER with Replaces (RFC 3891)', async () => {
  const peer = await calls.peer()
  await calls.connection(peer, { transfers: 'follow', rates: [{ prefix: '+4977', cost: 0 }] })
  const { userId, account } = await invited(product, 'consults@example.com')
  const phone = await Phone.open('consults')
  await phone.register(account, product.sip)
  const contact = `Contact: <sip:far@127.0.0.1:${peer.port}>`
  const answered = async (number: string) => {
    let invite = await peer.next('INVITE')
    // That of the call before may come once more.
    while (!invite.text.startsWith(`INVITE sip:${number}@`)) invite = await peer.next('INVITE')
    const ok = invite.answer('200 OK', [contact, 'Content-Type: application/sdp'], audioAt(6010))
    return { ok, ack: await peer.next('ACK') }
  }
  const { id } = await product.ok('POST', '/calls', { to: '+497711', user_id: userId })
  const first = await answered('+497711')
  const member = await phone.next()
  member.answer()
  await product.until('the two talk', async () => {
    const consulting = await product.api('POST', `/calls/${id}/transfer`, { to: '+497722', type: 'attended' })
    return consulting.status < 300 ? true : null
  })
  const second = await answered('+497722')
  await product.until('the third is there', async () => {
    const parties = await product.all(`/calls/${id}/participants`)
    return parties.filter(({ status }) => status === 'joined').length === 3 ? true : null
  })
  await product.ok('POST', `/calls/${id}/transfer/complete`)
  const refer = await peer.next('REFER')
  assert.is(field(refer.text, 'call-id'), field(first.ok, 'call-id'))
  const tagOf = (name: string) => /;tag=([^;\s]+)/.exec(field(second.ok, name))![1]
  const dialog = `${field(second.ok, 'call-id')};to-tag=${tagOf('to')};from-tag=${tagOf('from')}`
  assert.is(field(refer.text, 'refer-to'), `<sip:far@127.0.0.1:${peer.port}?Replaces=${encodeURIComponent(dialog)}>`)
  refer.answer('202 Accepted', [contact])
  const told = ['Event: refer', 'Subscription-State: terminated;reason=noresource', contact]
  const fragment = [...told, 'Content-Type: message/sipfrag']
  first.ack.reply(insideCalled(refer, first.ok, 'NOTIFY', 1, fragment, 'SIP/2.0 200 OK'))
  const left: string[] = []
  while (left.length < 2) {
    const bye = await peer.next('BYE')
    left.push(field(bye.text, 'call-id'))
    bye.answer('200 OK')
  }
  assert.equal(left.sort(), [first, second].map(({ ok }) => field(ok, 'call-id')).sort())
  await member.ended
  assert.is((await calls.endOf(id)).ended_reason, 'transfer_completed')
  await phone.close()
})

test('a caller who has heard an announcement before the answer is refused with the cause that its call shows', async () => {
  const peer = await calls.peer()
  const to = '+49309876546'
  await calls.route(to, { type: 'announcement' }, { answer: 'early_media' })
  calls.invite(peer, { to })
  const refused = await peer.next('[3-6]\\d\\d')
  assert.is(refused.what, '480')
  const [call] = (await product.ok('GET', '/calls?limit=1')).data
  const { cause } = await calls.endOf(call.id)
  assert.match(field(refused.text, 'reason'), `Q.850;cause=${cause.q850};`)
})

test('a caller who hangs up by BYE before the answer has its INVITE refused 487 with a cause', async () => {
  const peer = await calls.peer()
  const to = '+49309876547'
  await calls.route(to, await calls.emptyQueue(), { answer: 'when_answered' })
  calls.invite(peer, { to })
  const rings = await peer.next('180')
  rings.reply(inside(rings, 'BYE', 2))
  const refused = await peer.next('487')
  assert.match(field(refused.text, 'reason'), 'Q.850;cause=16;')
})

test('a far end gets packets as long as its `ptime` or `maxptime` says (RFC 8866 §6.4)', async () => {
  const peer = await calls.peer()
  for (const [wish, octets] of [
    ['ptime:10', 80],
    ['maxptime:10', 80],
    ['ptime:30', 240],
    ['ptime:50', 400],
  ] as const) {
    const audio = createSocket('udp4').bind(0, '127.0.0.1')
    await once(audio, 'listening')
    const answer = await calls.answered(peer, { body: audioAt(audio.address().port, '0', [`a=${wish}`]) })
    const packets: Buffer[] = []
    for await (const [packet] of on(audio, 'message')) if (packets.push(packet) === 20) break
    assert.equal([...new Set(packets.map(({ length }) => length - 12))], [octets], wish)
    for (const [i, packet] of packets.slice(1).entries()) {
      assert.is((packet.readUInt32BE(4) - packets[i]!.readUInt32BE(4)) >>> 0, octets, wish)
      assert.is((packet.readUInt16BE(2) - packets[i]!.readUInt16BE(2)) & 0xffff, 1, wish)
    }
    await hangUp(peer, answer)
    audio.close()
  }
})

test('an INVITE larger than 1,300 bytes goes over TCP where no transport is named (RFC 3261 §18.1.1)', async () => {
  const peer = await calls.peer('tcp')
  const [name, said] = ['a'.repeat(128), 'b'.repeat(120)]
  const to = `sip:${name}@127.0.0.1:${peer.port};said=${said}`
  const { id } = await product.ok('POST', '/calls', { to, from: `sip:${name}@example.com` })
  const invite = await peer.next('INVITE')
  assert.ok(invite.text.length > 1300)
  assert.match(field(invite.text, 'via'), /^SIP\/2\.0\/TCP /)
  invite.answer('486 Busy Here')
  await peer.next('ACK')
  assert.is((await calls.endOf(id)).status, 'busy')
})

test('whoever ends a call, our source says goodbye by RTCP (RFC 3550 §6.6)', async () => {
  const peer = await calls.peer()
  for (const whoHangsUp of ['they', 'we']) {
    const heard: Buffer[] = []
    const audio = createSocket('udp4', datagram => heard.push(datagram)).bind(0, '127.0.0.1')
    await once(audio, 'listening')
    const answer = await calls.answered(peer, { body: audioAt(audio.address().port, '0', ['a=rtcp-mux']) })
    await product.until('our audio is there', async () => (heard.length > 5 ? true : null))
    if (whoHangsUp === 'they') {
      await hangUp(peer, answer)
    } else {
      const { data } = await product.ok('GET', '/calls?status=in_progress&limit=1')
      await product.ok('POST', `/calls/${data[0].id}/hangup`)
      await peer.takes('BYE')
    }
    const source = heard.find(datagram => !isReport(datagram))!.readUInt32BE(8)
    await product.until('our source has left', async () => (heard.flatMap(goodbyesIn).includes(source) ? true : null))
    audio.close()
  }
})

/** Of the packet types of RTCP (RFC 5761 §4). */
const isReport = (datagram: Buffer): boolean => datagram[1]! >= 192 && datagram[1]! <= 223

/** The sources that say BYE in a compound RTCP datagram (RFC 3550 §6.6). */
function goodbyesIn(datagram: Buffer): number[] {
  const left: number[] = []
  for (let at = 0; isReport(datagram) && at + 8 <= datagram.length; at += 4 * (datagram.readUInt16BE(at + 2) + 1)) {
    if (datagram[at + 1] === 203) left.push(datagram.readUInt32BE(at + 4))
  }
  return left
}

test('what an ACK says beside the offer of its INVITE changes nothing, and a 100 has the Timestamp of that (RFC 3261 §13.2.1, §8.2.6.1)', async () => {
  const peer = await calls.peer()
  calls.invite(peer, { more: ['Timestamp: 54.2'] })
  assert.is(field((await peer.next('100')).text, 'timestamp'), '54.2')
  const answer = await peer.next('200')
  assert.is(field(answer.text, 'timestamp'), '')
  answer.reply(inside(answer, 'ACK', 1, ['Content-Type: application/sdp'], audioAt(6000, '18')))
  const change = ['Contact: <sip:far@127.0.0.1>', 'Content-Type: application/sdp']
  answer.reply(inside(answer, 'INVITE', 2, change, audioAt(6002)))
  const second = await peer.next('[2-6]\\d\\d')
  assert.is(second.what, '200')
  answer.reply(inside(answer, 'ACK', 2, change.slice(1), audioAt(6002, '18')))
  answer.reply(inside(answer, 'OPTIONS', 3))
  assert.is((await peer.next('[2-6]\\d\\d')).what, '200')
  assert.equal(
    peer.received.filter(({ what }) => what === 'BYE'),
    [],
  )
  await hangUp(peer, answer, 4)
})

test.run()
