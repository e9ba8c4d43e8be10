import * as assert from 'uvu/assert'
import { suite } from '../harness.ts'
import { body, Party, Pipe } from './pipe.ts'

const test = suite('sip/info')

/** Two parties in a call. */
function call() {
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1')
  const bob = new Party(pipe, '192.0.2.2')
  bob.onEvent = (event, party) => {
    if (event.kind === 'incoming') party.do(party.agent.accept(event.sessionId, body('answer'), pipe.now))
  }
  const { sessionId, actions } = alice.agent.invite(
    { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') },
    0,
  )
  alice.do(actions)
  pipe.run(100)
  const press = (key: string) => alice.do(alice.agent.info(sessionId, 'application/dtmf', Buffer.from(key), pipe.now))
  const heard = () => bob.events.flatMap(event => (event.kind === 'info' ? [event.key.digit] : [])).join('')
  const check = () => alice.do(alice.agent.checkPresence(sessionId, pipe.now))
  const kinds = () => alice.events.map(({ kind }) => kind).filter(kind => kind === 'present' || kind === 'ended')
  return { pipe, alice, press, heard, check, kinds }
}

test('an INFO waits for the answer to the one before, so that none passes another on the way', () => {
  const { pipe, alice, press, heard } = call()
  for (const key of '1234') press(key)
  assert.is(alice.sentLike('INFO').length, 1)
  pipe.run(1000)
  assert.is(heard(), '1234')
})

test('keys arrive once and in order although datagrams are lost', () => {
  const { pipe, press, heard } = call()
  let count = 0
  pipe.lose = () => ++count % 3 === 0
  for (const key of '0123456789') press(key)
  pipe.run(60_000)
  assert.is(heard(), '0123456789')
})

test('no more than 64 wait; further ones are dropped and counted', () => {
  const { pipe, alice, press, heard } = call()
  for (let i = 0; i < 70; i++) press('5')
  assert.is(alice.agent.counters.dropped, 5)
  pipe.run(10_000)
  assert.is(heard().length, 65)
})

/** Answers to OPTIONS have this status. */
const answering =
  (status: number) =>
  (text: string): string =>
    /\r\nCSeq: \d+ OPTIONS\r\n/.test(text) ? text.replace(/^SIP\/2\.0 200 [^\r]*/, `SIP/2.0 ${status} X`) : text

test('a far end that is asked by OPTIONS in the call is there if it answers, and is asked once at a time, behind the keys', () => {
  const { pipe, alice, press, check, kinds } = call()
  press('1')
  for (let n = 0; n < 3; n++) check()
  press('2')
  assert.is(alice.sentLike('OPTIONS').length, 0)
  pipe.run(1000)
  assert.is(alice.sentLike('OPTIONS').length, 1)
  assert.match(alice.sentLike('OPTIONS')[0]!.text, /\r\nTo: [^\r]*;tag=/)
  assert.equal(kinds(), ['present'])
  check()
  pipe.run(2000)
  assert.equal(kinds(), ['present', 'present'])
})

test('the question is repeated where datagrams are lost', () => {
  const { pipe, check, kinds } = call()
  let count = 0
  pipe.lose = () => ++count <= 5
  check()
  pipe.run(20_000)
  assert.equal(kinds(), ['present'])
})

test('no answer, one of a proxy that does not reach the far end, and one that knows of no call tell of nobody, and end nothing', () => {
  for (const status of [408, 480, 481, 502, 503, 504]) {
    const { pipe, check, kinds } = call()
    pipe.alter = answering(status)
    check()
    pipe.run(40_000)
    assert.equal(kinds(), [], `${status}`)
  }
  const { pipe, check, kinds } = call()
  pipe.lose = () => true
  check()
  pipe.run(40_000)
  assert.equal(kinds(), [])
})

test('a far end that refuses OPTIONS is there', () => {
  for (const status of [404, 405, 420, 486, 500, 501]) {
    const { pipe, check, kinds } = call()
    pipe.alter = answering(status)
    check()
    pipe.run(1000)
    assert.equal(kinds(), ['present'], `${status}`)
  }
})

test.run()
