import * as assert from 'uvu/assert'
import { NamedHosts } from '../../../../media/signalling/endpoint/named-hosts.ts'
import type { Peer, UaEvent } from '../../../../sip/user-agent.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/signalling/endpoint/named-hosts')

const PEER: Peer = { transport: 'udp', host: '192.0.2.1', port: 5060 }
const sdp = (host: string, rtcp = ''): string =>
  `v=0\r\no=far 1 1 IN IP4 origin.example\r\ns=-\r\nc=IN IP4 ${host}\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n${rtcp}`
const bodyOf = (text: string) => ({ type: 'application/sdp', bytes: Buffer.from(text) })
const answered = (sessionId: string, text: string | null): UaEvent => ({
  ...{ kind: 'answered', sessionId, header: () => null as never, peer: PEER },
  body: text === null ? null : bodyOf(text),
})
const reinvite = (sessionId: string, text: string): UaEvent => ({
  ...{ kind: 'reinvite', sessionId, offer: bodyOf(text), peer: PEER },
})
const ended = (sessionId: string): UaEvent => ({ kind: 'confirmed', sessionId, body: null })

/** A name service whose answers the test gives. */
function makeWorld(mayReach = (_peer: Peer | null, host: string) => !host.startsWith('10.')) {
  const asked: string[] = []
  const answers: ((addresses: string[]) => void)[] = []
  const told: string[] = []
  const hosts = new NamedHosts({
    names: {
      addresses: name => {
        asked.push(name)
        return new Promise(resolve => answers.push(resolve))
      },
    },
    mayReach,
    deliver: event => {
      const body = 'offer' in event ? event.offer : 'body' in event ? event.body : null
      const text = body === null ? '' : Buffer.from(body.bytes).toString()
      const found = [...text.matchAll(/^(?:c=|a=rtcp:\d+ )IN IP[46] (.*)\r$/gm)].map(([, host]) => host)
      told.push([event.kind, event.sessionId, ...found].join(' '))
    },
  })
  const answer = async (...addresses: string[]): Promise<void> => {
    answers.shift()!(addresses)
    for (let n = 0; n < 5; n++) await null
  }
  return { hosts, asked, told, answer }
}

test("addresses stand in the place of names, also of RTCP's, and what follows in the session waits; others do not", async () => {
  const { hosts, asked, told, answer } = makeWorld()
  hosts.take(answered('a', sdp('media.example.com', 'a=rtcp:4001 IN IP4 rtcp.example.com\r\n')))
  hosts.take(ended('a'))
  hosts.take(answered('b', sdp('192.0.2.9')))
  hosts.take(answered('c', null))
  assert.equal(told, ['answered b 192.0.2.9', 'answered c'], 'at once')
  await answer('2001:db8::1', '192.0.2.7', '192.0.2.8')
  assert.is(told.length, 2)
  await answer('192.0.2.6')
  assert.equal(told.slice(2), ['answered a 192.0.2.7 192.0.2.6', 'confirmed a'])
  assert.equal(asked, ['media.example.com', 'rtcp.example.com'], 'the origin is nowhere to send to')
  hosts.take(ended('a'))
  assert.is(told.length, 5, 'nothing waits any more')
})

test('what waits may have names, too', async () => {
  const { hosts, told, answer } = makeWorld()
  hosts.take(answered('a', sdp('one.example')))
  hosts.take(reinvite('a', sdp('two.example')))
  await answer('192.0.2.1')
  await answer('192.0.2.2')
  assert.equal(told, ['answered a 192.0.2.1', 'reinvite a 192.0.2.2'])
})

test('an address that may be sent to comes before others; a name that leads nowhere, or to the other family, stays', async () => {
  const { hosts, told, answer } = makeWorld()
  hosts.take(reinvite('a', sdp('a.example')))
  await answer('10.0.0.1', '192.0.2.2')
  hosts.take(reinvite('b', sdp('b.example')))
  await answer('10.0.0.1')
  hosts.take(reinvite('c', sdp('c.example')))
  await answer()
  hosts.take(reinvite('d', sdp('d.example')))
  await answer('2001:db8::1')
  assert.equal(told, ['reinvite a 192.0.2.2', 'reinvite b 10.0.0.1', 'reinvite c c.example', 'reinvite d d.example'])
})

test('a name server that says nothing holds a call up for two seconds', async () => {
  const { hosts, told } = makeWorld()
  hosts.take(reinvite('a', sdp('a.example')))
  while (told.length === 0) await new Promise(later => setTimeout(later, 50))
  assert.equal(told, ['reinvite a a.example'])
})

test('of very many names at once only so many are looked up', () => {
  const { hosts, asked, told } = makeWorld()
  for (let n = 0; n < 300; n++) hosts.take(reinvite(`s${n}`, sdp('a.example')))
  assert.equal([asked.length, told.length], [200, 100])
})

test.run()
