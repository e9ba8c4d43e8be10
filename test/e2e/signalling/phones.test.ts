import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { answerChallenge, parseChallenge } from '../../../sip/auth/digest.ts'
import { audioAt, bodyOf, field, type Raw, RawPeer } from '../../interop/peers/raw-peer.ts'
import { callFrom, endedCall, HEARD_DBOV, invited, keep } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

// Members' phones whose bytes the tests write: their lamps (BLF), and their calls while they register again.

const test = sharedSuite('e2e/signalling/phones')
const LIMIT = { timeoutMs: 60_000, together: true }

interface Member {
  userId: string
  extension: string
  account: { username: string; password: string }
}

let members = 0
async function newMember(): Promise<Member> {
  const extension = String(8800 + ++members)
  return { extension, ...(await invited(product, `lamp${extension}@example.com`, { extension })) }
}

let requests = 0
const HEAD = () => `127.0.0.1:${product.sip.port}`

/** Sends a member's request, and answers the challenge. */
async function ask(
  peer: RawPeer,
  { account }: Member,
  method: string,
  user: string,
  more: string[],
  transport = 'UDP',
): Promise<Raw> {
  const uri = method === 'REGISTER' ? `sip:${HEAD()}` : `sip:${user}@${HEAD()}`
  const [tag, callId] = [`t${++requests}`, `phone-${requests}-${peer.port}`]
  const send = (cseq: number, authorization: string[]): void =>
    peer.send(
      [
        `${method} ${uri} SIP/2.0`,
        `Via: SIP/2.0/${transport} 127.0.0.1:${peer.port};branch=z9hG4bK${tag}${cseq};rport`,
        'Max-Forwards: 70',
        `From: <sip:${account.username}@127.0.0.1>;tag=${tag}`,
        `To: <sip:${user}@127.0.0.1>`,
        `Call-ID: ${callId}`,
        `CSeq: ${cseq} ${method}`,
        ...more,
        ...authorization,
        'Content-Length: 0',
        '',
        '',
      ].join('\r\n'),
      product.sip.port,
    )
  send(1, [])
  const challenge = parseChallenge(field((await peer.next('401')).text, 'www-authenticate'))!
  send(2, [`Authorization: ${answerChallenge(challenge, account, { method, uri }, 'cnonce', 1)}`])
  return peer.next('[2-6]\\d\\d')
}

const newPeer = async (): Promise<RawPeer> => keep(await RawPeer.udp())
const contact = ({ port }: RawPeer): string => `<sip:desk@127.0.0.1:${port}>`

/** Subscribes. @returns a function that resolves with the body of the next NOTIFY */
async function subscribes(member: Member, user: string, event: string): Promise<() => Promise<string>> {
  const peer = await newPeer()
  const accepted = await ask(peer, member, 'SUBSCRIBE', user, [
    `Event: ${event}`,
    `Contact: ${contact(peer)}`,
    'Expires: 600',
  ])
  assert.is(accepted.what, '200')
  return async () => {
    const notify = await peer.takes('NOTIFY')
    assert.equal(
      [field(notify.text, 'event'), field(notify.text, 'subscription-state').split(';')[0]],
      [event, 'active'],
    )
    return bodyOf(notify.text)
  }
}

test(
  "a colleague's lamp tells that it rings, talks and is free again (RFC 4235)",
  async () => {
    const [ann, bob] = [await newMember(), await newMember()]
    const phone = await Phone.open('bob-desk')
    await phone.register(bob.account, product.sip)
    const told = await subscribes(ann, bob.extension, 'dialog')
    const states = async (): Promise<string[]> =>
      [...(await told()).matchAll(/direction="(\w+)"><state>(\w+)</g)].map(
        ([, direction, state]) => `${direction} ${state}`,
      )
    assert.equal(await states(), [])
    const caller = await Phone.open('lights-lamp')
    await product.ok('POST', '/calls', { to: caller.uri, user_id: bob.userId })
    const [atCaller] = [await caller.next()]
    atCaller.answer()
    const atBob = await phone.next()
    assert.equal(await states(), ['recipient early'])
    atBob.answer()
    assert.equal(await states(), ['recipient confirmed'])
    await atBob.hangup()
    assert.equal(await states(), [])
  },
  LIMIT,
)

test(
  'a phone whose account got a new password is told no more: its subscription ends (RFC 6665 §4.2.2)',
  async () => {
    const [ann, bob] = [await newMember(), await newMember()]
    const peer = await newPeer()
    await ask(peer, ann, 'SUBSCRIBE', bob.extension, ['Event: dialog', `Contact: ${contact(peer)}`, 'Expires: 600'])
    await peer.takes('NOTIFY')
    await product.ok('POST', `/users/${ann.userId}/sip_credential`)
    const last = await peer.takes('NOTIFY')
    assert.is(field(last.text, 'subscription-state'), 'terminated;reason=rejected')
  },
  LIMIT,
)

test(
  'a phone is told of a voicemail of its queue, and that it was deleted (RFC 3842)',
  async () => {
    const ann = await newMember()
    const queue = {
      ...{ name: `Lamp ${ann.extension}`, member_user_ids: [ann.userId], voicemail: { message: '', max_seconds: 10 } },
      overflow: { when_no_agents: true, action: 'voicemail' },
    }
    const { id: queueId } = await product.ok('POST', '/queues', queue)
    const number = `7${ann.extension}`
    await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'queue', id: queueId } })
    const told = await subscribes(ann, ann.account.username, 'message-summary')
    const waiting = async (): Promise<string> =>
      /^Messages-Waiting: (.*)\r\n[\s\S]*^Voice-Message: (\S+)/m
        .exec(await told())
        ?.slice(1)
        .join() ?? ''
    assert.is(await waiting(), 'no,0/0')
    const call = await (await Phone.open('leaves-message')).call(number, product.sip)
    call.say(tone(440))
    let isBeeped = false
    for (let tries = 0; tries < 150 && !isBeeped; tries++)
      isBeeped = levelAt(1000, await call.heard.next(100)) > HEARD_DBOV
    assert.ok(isBeeped, 'the beep is heard')
    await call.heard.next(1500)
    await call.hangup()
    assert.is(await waiting(), 'yes,1/0')
    const voicemail = (await product.all('/voicemails')).find(one => one.queue_id === queueId)
    await product.ok('DELETE', `/voicemails/${voicemail.id}`)
    assert.is(await waiting(), 'no,0/0')
  },
  LIMIT,
)

test(
  'a phone behind the NAT of another private network gets its ACK and its BYE where its INVITE went, or where it has registered from since (RFC 5626 §5.3)',
  async () => {
    const bob = await newMember()
    const number = `7${bob.extension}`
    await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'user', id: bob.userId } })
    const [desk, moved] = [await newPeer(), await newPeer()]
    const behind = 'Contact: <sip:desk@192.168.1.7:5060>'
    const registers = async (peer: RawPeer): Promise<void> =>
      assert.is((await ask(peer, bob, 'REGISTER', bob.account.username, [behind])).what, '200')
    await registers(desk)
    for (const last of [desk, moved]) {
      const answered = (await Phone.open(`calls-behind-${last.port}`)).call(number, product.sip)
      await desk.takes('INVITE', '200 OK', [behind, 'Content-Type: application/sdp'], audioAt(6000))
      await desk.next('ACK')
      const call = await answered
      // Its NAT gives it another port.
      if (last === moved) await registers(moved)
      await call.hangup()
      await last.takes('BYE')
    }
  },
  LIMIT,
)

test(
  'a phone that registers again in a call, from the same port and then from another one, keeps its call, and is reached where it is once it has said so in the call',
  async () => {
    const bob = await newMember()
    const number = `7${bob.extension}`
    await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'user', id: bob.userId } })
    const [desk, moved] = [await newPeer(), await newPeer()]
    const registers = async (peer: RawPeer, ...contacts: string[]): Promise<void> => {
      const answer = await ask(
        peer,
        bob,
        'REGISTER',
        bob.account.username,
        contacts.map(one => `Contact: ${one}`),
      )
      assert.is(answer.what, '200')
    }
    const audio = keep(createSocket('udp4').bind(0, '127.0.0.1'))
    await once(audio, 'listening')
    await registers(desk, contact(desk))
    const caller = await Phone.open('stays-on')
    const answered = caller.call(number, product.sip)
    const invite = await desk.next('INVITE')
    const described = ['Content-Type: application/sdp']
    const ok = invite.answer('200 OK', [`Contact: ${contact(desk)}`, ...described], audioAt(audio.address().port))
    await desk.next('ACK')
    const call = await answered
    const { id: callId } = await callFrom(product, 'stays-on')
    const goesOn = async (): Promise<void> => {
      for (let packets = 0; packets < 5; packets++) await once(audio, 'message')
      assert.is((await product.ok('GET', `/calls/${callId}`)).status, 'in_progress')
    }
    await goesOn()
    await registers(desk, contact(desk))
    await goesOn()
    // A router has given the phone another port: it removes its former contact.
    await registers(moved, contact(moved), `${contact(desk)};expires=0`)
    await goesOn()
    const inCall = (method: string, cseq: number, more: string[], body = ''): string =>
      [
        `${method} ${/<([^>]*)>/.exec(field(invite.text, 'contact'))![1]} SIP/2.0`,
        `Via: SIP/2.0/UDP 127.0.0.1:${moved.port};branch=z9hG4bK${method}${moved.port};rport`,
        'Max-Forwards: 70',
        `From: ${field(ok, 'to')}`,
        `To: ${field(ok, 'from')}`,
        `Call-ID: ${field(ok, 'call-id')}`,
        `CSeq: ${cseq} ${method}`,
        ...more,
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n')
    const change = [`Contact: ${contact(moved)}`, ...described]
    moved.send(inCall('INVITE', 1, change, audioAt(audio.address().port)), product.sip.port)
    await moved.next('200')
    moved.send(inCall('ACK', 1, []), product.sip.port)
    await goesOn()
    await call.hangup()
    await moved.takes('BYE')
    assert.is((await endedCall(product, callId)).ended_reason, 'caller_hangup')
    const other = caller.dial(number, product.sip)
    await moved.takes('INVITE', '486 Busy Here')
    await (await other).outcome
    assert.is(desk.received.filter(({ what }) => what === 'INVITE').length, 1)
  },
  LIMIT,
)

test(
  "a phone that says nothing at all does not keep the caller waiting once the member's other one is busy; one that has said 100 rings on",
  async () => {
    const bob = await newMember()
    const number = `7${bob.extension}`
    await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'user', id: bob.userId } })
    const [desk, laptop] = [await newPeer(), await newPeer()]
    for (const peer of [desk, laptop]) {
      const answer = await ask(peer, bob, 'REGISTER', bob.account.username, [`Contact: ${contact(peer)}`])
      assert.is(answer.what, '200')
    }
    const phone = keep(await Phone.open('two-phones'))
    const first = await phone.dial(number, product.sip)
    const asleep = await laptop.next('INVITE')
    await desk.takes('INVITE', '486 Busy Here')
    // By the voicemail.
    await first.outcome
    // In the whole ringing time, of half a minute, the INVITE would have been sent six times.
    assert.ok(laptop.received.filter(({ what }) => what === 'INVITE').length < 6)
    await first.hangup()
    // It wakes up, and is told at once that it need not ring.
    asleep.answer('180 Ringing')
    await laptop.takes('CANCEL')
    const second = await phone.dial(number, product.sip)
    const slow = await laptop.next('INVITE')
    slow.answer('100 Trying')
    await desk.takes('INVITE', '486 Busy Here')
    // Longer than a silent one is waited for.
    await sleep(6000)
    const ok = ['Content-Type: application/sdp', `Contact: ${contact(laptop)}`]
    slow.answer('200 OK', ok, audioAt(6000))
    await laptop.next('ACK')
    assert.is((await second.outcome).status, 200)
    await second.hangup()
    await laptop.takes('BYE')
  },
  LIMIT,
)

test(
  'a phone whose connection is dead (a firewall has forgotten it) is gone once it leaves an INVITE unanswered for five seconds: its next calls are not sent there, until it registers again',
  async () => {
    const member = await newMember()
    const desk = keep(await RawPeer.tcp())
    const registers = () =>
      ask(desk, member, 'REGISTER', member.account.username, [`Contact: ${contact(desk)}`, 'Expires: 600'], 'TCP')
    const to = `+4930777${member.extension}`
    const target = { type: 'user', id: member.userId }
    await product.ok('POST', '/inbound_routes', { match: { to }, target })
    const phone = keep(await Phone.open('calls-dead'))
    assert.is((await registers()).what, '200')
    const first = await phone.dial(to, product.sip)
    await desk.next('INVITE')
    await desk.next('closed')
    await first.outcome
    const invites = () => desk.received.filter(({ what }) => what === 'INVITE').length
    const second = await phone.dial(to, product.sip)
    await second.outcome
    assert.is(invites(), 1)
    assert.is((await registers()).what, '200')
    const third = await phone.dial(to, product.sip)
    await desk.takes('INVITE', '486 Busy Here')
    await third.outcome
  },
  LIMIT,
)

test.run()
