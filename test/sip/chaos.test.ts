import * as assert from 'uvu/assert'
import { seeded } from '../../bench/seeded.ts'
import { suite } from '../harness.ts'
import { body, message, Party, Pipe, withoutUpdate } from './pipe.ts'

const test = suite('sip/chaos')
const LAST = new Set(['ended', 'rejected'])

/** One call in each direction over a bad network, with re-INVITEs and hang-ups by both sides at seeded times. */
function badNight(seed: number): { alice: Party; bob: Party; talked: boolean } {
  const random = seeded(seed)
  const pipe = new Pipe()
  pipe.lose = () => random() < 0.25
  pipe.jitterMs = () => random() * 400
  if (seed % 2 === 0) pipe.alter = withoutUpdate
  const alice = new Party(pipe, '192.0.2.1', { sessionExpiresS: 90 })
  const bob = new Party(pipe, '192.0.2.2')
  for (const party of [alice, bob]) {
    party.onEvent = event => {
      const { agent } = party
      if (event.kind === 'incoming') {
        party.do(agent.provisional(event.sessionId, 180, null, pipe.now))
        if (random() < 0.1) party.do(agent.reject(event.sessionId, 486, pipe.now))
        else party.do(agent.accept(event.sessionId, body('answer'), pipe.now))
      } else if (event.kind === 'reinvite') {
        if (random() < 0.2) party.do(agent.rejectReinvite(event.sessionId, 488, pipe.now))
        else party.do(agent.acceptReinvite(event.sessionId, body('again'), pipe.now))
      } else if (event.kind === 'answered' || event.kind === 'reinviteAnswered') {
        party.do(agent.acknowledge(event.sessionId, body('late'), pipe.now))
      }
    }
  }
  const early = random() < 0.7
  const request = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', ...(early ? { body: body('offer') } : {}) }
  const { sessionId, actions } = alice.agent.invite(request, 0)
  alice.do(actions)
  for (let step = 0; step < 8; step++) {
    pipe.run(pipe.now + random() * 8000)
    const party = random() < 0.5 ? alice : bob
    const id = party === alice ? sessionId : party.events.find(event => event.kind === 'incoming')?.sessionId
    if (id === undefined) continue
    const dice = random()
    if (dice < 0.5) party.do(party.agent.reinvite(id, random() < 0.5 ? body('hold') : null, pipe.now))
    else if (dice < 0.65) party.do(party.agent.info(id, 'application/dtmf', Buffer.from('1'), pipe.now))
    else if (dice < 0.75) party.do(party.agent.bye(id, pipe.now))
  }
  alice.do(alice.agent.bye(sessionId, pipe.now))
  pipe.run(pipe.now + 400_000)
  return { alice, bob, talked: bob.kinds().includes('confirmed') }
}

test('with a quarter of all messages lost and the rest reordered every call ends, once, on both sides', () => {
  let talked = 0
  for (let seed = 1; seed <= 300; seed++) {
    const { alice, bob, talked: both } = badNight(seed)
    if (both) talked++
    for (const party of [alice, bob]) {
      const sessions = new Set(party.events.map(event => event.sessionId))
      for (const id of sessions) {
        const own = party.events.filter(event => event.sessionId === id)
        assert.is(own.filter(event => LAST.has(event.kind)).length, 1, `seed ${seed}: ${party.kinds()}`)
        assert.ok(LAST.has(own.at(-1)!.kind), `seed ${seed}: nothing comes after the end: ${party.kinds()}`)
      }
      assert.equal([party.agent.sessionCount, party.agent.transactionCount], [0, 0], `seed ${seed}`)
      assert.is(party.agent.nextDeadline(), null, `seed ${seed}`)
    }
  }
  assert.ok(talked > 150, `${talked} of 300 calls got through`)
})

test('mutated messages in the middle of calls leave the agent alive and the next call perfect', () => {
  const random = seeded(99)
  const pipe = new Pipe()
  const alice = new Party(pipe, '192.0.2.1')
  const bob = new Party(pipe, '192.0.2.2', { maxTransactions: 200 })
  bob.onEvent = event => {
    if (event.kind === 'incoming') bob.do(bob.agent.accept(event.sessionId, body('answer'), pipe.now))
  }
  const request = { to: 'sip:bob@192.0.2.2', from: 'sip:alice@192.0.2.1', body: body('offer') }
  const { sessionId, actions } = alice.agent.invite(request, 0)
  alice.do(actions)
  pipe.run(100)
  alice.do(alice.agent.reinvite(sessionId, body('hold'), 100))
  const corpus = [...alice.sent, ...bob.sent].map(({ text }) => Buffer.from(text, 'latin1'))
  corpus.push(
    Buffer.from(
      message(
        'BYE sip:x SIP/2.0',
        'Via: SIP/2.0/UDP h;branch=z9hG4bKq',
        'f: <sip:a@b>;tag=1',
        't: <sip:c@d>;tag=2',
        'i: q',
        'CSeq: 1 BYE',
      ),
    ),
  )
  for (let i = 0; i < 5000; i++) {
    const bytes = Buffer.from(corpus[Math.floor(random() * corpus.length)]!)
    for (let change = Math.floor(random() * 6); change > 0; change--) {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
    }
    const cut = random() < 0.2 ? Math.floor(random() * bytes.length) : bytes.length
    bob.agent.receive(bytes.subarray(0, cut), alice.peer, pipe.now)
    alice.agent.receive(bytes.subarray(0, cut), bob.peer, pipe.now)
    if (i % 100 === 0) pipe.run(pipe.now + 500)
  }
  assert.ok(bob.agent.transactionCount <= 250)
  pipe.run(pipe.now + 200_000)
  const next = alice.agent.invite(request, pipe.now)
  alice.do(next.actions)
  pipe.run(pipe.now + 100)
  assert.ok(alice.events.some(event => event.kind === 'answered' && event.sessionId === next.sessionId))
})

test.run()
