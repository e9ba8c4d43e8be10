import * as assert from 'uvu/assert'
import type { Peer } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { Party, Pipe } from './pipe.ts'

const test = suite('sip/phone-ways')
const SECOND = 1000
/** Where the packets of a phone come from, before and after its router has forgotten it. */
const [NAT, LATER]: [Peer, Peer] = [
  { transport: 'udp', host: '198.51.100.7', port: 40_000 },
  { transport: 'udp', host: '198.51.100.7', port: 40_001 },
]
const [DESK, DOOR] = ['sip:ann@192.168.1.5:5060', 'sip:door@192.168.1.5:5060']

/** A registrar and its phone, which answers. */
function registrarAndPhone() {
  const pipe = new Pipe()
  const registrar = new Party(pipe, '192.0.2.2')
  const phone = new Party(pipe, NAT.host)
  const keep = (uri: string, expiresS: number, peer = NAT): void =>
    registrar.do(registrar.agent.keepOpen(peer, [{ uri, expiresS }], true, pipe.now))
  /** OPTIONS without their repeats. */
  const asked = (uri = '') =>
    registrar.sentLike(`OPTIONS ${uri}`).filter(({ text }, i, all) => all.findIndex(one => one.text === text) === i)
  return { pipe, registrar, phone, keep, asked }
}

test('while it is registered a phone over UDP is asked by OPTIONS, at its address, before a router forgets it after 30 s', () => {
  const { pipe, registrar, keep, asked } = registrarAndPhone()
  keep(DESK, 300)
  pipe.run(300 * SECOND)
  const times = [0, ...asked().map(({ at }) => at), 300 * SECOND]
  for (const [i, at] of times.slice(1).entries()) assert.ok(at - times[i]! <= 25 * SECOND, times.join())
  for (const { text, to } of asked()) {
    assert.equal([to.host, to.port], [NAT.host, NAT.port])
    assert.match(text, `OPTIONS ${DESK} SIP/2.0`)
    assert.match(text, 'From: <sip:192.0.2.2>')
  }
  const before = asked().length
  pipe.run(600 * SECOND)
  assert.is(asked().length, before)
  assert.is(registrar.agent.nextDeadline(), null)
})

test('one that does not answer is asked all the same, with repeats for five seconds', () => {
  const { pipe, registrar, keep, asked } = registrarAndPhone()
  pipe.lose = text => text.startsWith('SIP/2.0')
  keep(DESK, 120)
  pipe.run(120 * SECOND)
  assert.ok(asked().length >= 4, String(asked().length))
  for (const { at, text } of asked()) {
    const repeats = registrar.sent.filter(one => one.text === text)
    assert.ok(repeats.length > 1 && repeats.at(-1)!.at - at <= 5 * SECOND, repeats.map(one => one.at).join())
  }
})

test('after a restart, when the last packet may have been long ago, a phone is asked within five seconds', () => {
  const { pipe, registrar, asked } = registrarAndPhone()
  registrar.do(registrar.agent.keepOpen(NAT, [{ uri: DESK, expiresS: 300 }], false, pipe.now))
  pipe.run(5 * SECOND)
  assert.is(asked().length, 1)
  pipe.run(30 * SECOND)
  assert.is(asked().length, 2)
})

test('a refreshed contact is asked once per interval, and one that is taken back no longer', () => {
  const { pipe, keep, asked } = registrarAndPhone()
  for (let n = 0; n < 5; n++) keep(DESK, 100)
  keep(DOOR, 100)
  pipe.run(60 * SECOND)
  const [desk, door] = [asked(DESK).length, asked(DOOR).length]
  assert.ok(desk <= 3 && door <= 3, `${desk} ${door}`)
  keep(DOOR, 0)
  pipe.run(90 * SECOND)
  assert.is(asked(DOOR).length, door)
  assert.ok(asked(DESK).length > desk)
  keep('*', 0)
  const last = asked().length
  pipe.run(200 * SECOND)
  assert.is(asked().length, last)
})

test('a registration that has run out makes room: as many phones as there may be come and go, and the next one is asked', () => {
  const { pipe, keep, asked } = registrarAndPhone()
  const others = Array.from({ length: 20_000 }, (_, n): Peer => ({ ...NAT, host: `10.0.${n >> 8}.${n & 255}` }))
  for (const peer of others) keep(DOOR, 1, peer)
  keep(DESK, 300)
  pipe.run(30 * SECOND)
  assert.is(asked(DESK).length, 0, 'there was no room')
  keep(DESK, 300)
  pipe.run(60 * SECOND)
  assert.ok(asked(DESK).length > 0)
})

test('a phone that comes from another port is asked there alone', () => {
  const { pipe, registrar, keep, asked } = registrarAndPhone()
  keep(DESK, 300)
  pipe.run(60 * SECOND)
  registrar.do(registrar.agent.moved(NAT, LATER, pipe.now))
  keep(DESK, 300, LATER)
  const before = asked().length
  pipe.run(120 * SECOND)
  const since = asked().slice(before)
  assert.ok(since.length >= 2)
  assert.ok(since.every(({ to }) => to.port === LATER.port))
})

test.run()
