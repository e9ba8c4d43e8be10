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
  return { pipe, alice, press, heard }
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

test.run()
