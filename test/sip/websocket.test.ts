import * as assert from 'uvu/assert'
import { UserAgent } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { body, Party, Pipe } from './pipe.ts'

const test = suite('sip/websocket')

/** Our user agent, and a client at `page` whose name does not resolve (RFC 7118 §5). */
function pair(): { pipe: Pipe; us: Party; page: Party } {
  const pipe = new Pipe()
  const us = new Party(pipe, '192.0.2.1', {}, 'ws')
  const page = new Party(pipe, '203.0.113.9', { local: () => ({ host: 'df7jal23ls0d.invalid', port: 5060 }) }, 'ws')
  us.locate = page.locate = () => {
    throw new Error('no name is looked up')
  }
  return { pipe, us, page }
}

test('RFC 7118 §5: answers, and requests inside the call, go over the connection that the call came by, whatever Via and Contact name', () => {
  const { pipe, us, page } = pair()
  us.onEvent = event => {
    if (event.kind === 'incoming') us.do(us.agent.accept(event.sessionId, body('answer'), pipe.now))
  }
  page.locate = () => [us.peer]
  page.do(page.agent.invite({ to: 'sip:bob@tandem.test', from: 'sip:ann@tandem.test', body: body('offer') }, 0).actions)
  pipe.run(50)
  assert.ok(page.kinds().includes('answered'))
  assert.match(page.sentLike('INVITE')[0]!.text, /Via: SIP\/2\.0\/WS df7jal23ls0d\.invalid/)
  us.do(us.agent.bye(us.event('incoming').sessionId, 60))
  pipe.run(100)
  assert.is(page.event('ended').cause, 'bye')
  const peers = us.sent.map(({ to }) => to.host)
  assert.equal([...new Set(peers)], ['203.0.113.9'])
  assert.match(us.sentLike('BYE')[0]!.text, /^BYE sip:[^ ]*df7jal23ls0d\.invalid/)
})

test('a call to a page goes where it has registered from, and its ACK and BYE as well', () => {
  const { pipe, us, page } = pair()
  page.onEvent = event => {
    if (event.kind === 'incoming') page.do(page.agent.accept(event.sessionId, body('answer'), pipe.now))
  }
  const { sessionId, actions } = us.agent.invite(
    { to: 'sip:ann@x.invalid;transport=ws', from: 'sip:bob@192.0.2.1', target: page.peer, body: body('offer') },
    0,
  )
  us.do(actions)
  pipe.run(50)
  us.do(us.agent.bye(sessionId, 60))
  pipe.run(100)
  assert.equal([...new Set(us.sent.map(({ to }) => to.host))], ['203.0.113.9'])
  assert.is(page.event('ended').cause, 'bye')
  assert.match(us.sentLike('INVITE')[0]!.text, /Contact: <sip:bob@192\.0\.2\.1:5060;transport=ws>/)
})

test('nobody is led to a WebSocket by a URI', () => {
  const agent = new UserAgent({ name: 'Test', local: () => ({ host: '192.0.2.1', port: 5060 }), random: () => 'r' })
  const request = { to: 'sip:a@192.0.2.9;transport=ws', from: 'sip:b@192.0.2.1', body: body('offer') }
  const [send] = agent.invite(request, 0).actions
  assert.is(send?.kind === 'send' ? send.to.transport : null, 'udp')
})

test.run()
