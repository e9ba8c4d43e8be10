import * as assert from 'uvu/assert'
import type { Watch } from '../../sip/user-agent.ts'
import { suite } from '../harness.ts'
import { Party, Pipe } from './pipe.ts'

const test = suite('sip/options-ping')
const WATCH: Watch = {
  watchId: 'conn_1',
  kind: 'ping',
  uri: 'sip:192.0.2.2',
  from: 'sip:192.0.2.1',
  contactUser: '',
  target: { transport: 'udp', host: '192.0.2.2', port: 5060 },
  credentials: null,
}

function scene(status = 200) {
  const pipe = new Pipe()
  const us = new Party(pipe, '192.0.2.1')
  const far = new Party(pipe, '192.0.2.2', { optionsStatus: () => ({ status }) })
  const statuses = () => us.watched.map(one => one.status)
  us.do(us.agent.watch(WATCH, 0))
  return { pipe, us, far, statuses }
}

test('a far end that answers OPTIONS is reachable, and is asked about every 30 seconds', () => {
  const { pipe, us, statuses } = scene()
  pipe.run(302_000)
  assert.equal(statuses(), ['reachable'])
  const asked = us.sentLike('OPTIONS').length
  assert.ok(asked >= 9 && asked <= 12, `${asked} times in five minutes`)
})

test('of several hosts of one far end any that answers makes it reachable, and it is silent when all are', () => {
  const pipe = new Pipe()
  const us = new Party(pipe, '192.0.2.1')
  const hosts = ['192.0.2.2', '192.0.2.3']
  for (const host of hosts) new Party(pipe, host)
  const silent = new Set(['192.0.2.2'])
  pipe.lose = (_, from) => silent.has(from.peer.host)
  const others = [{ transport: 'udp' as const, host: '192.0.2.3', port: 5060 }]
  us.do(us.agent.watch({ ...WATCH, others }, 0))
  const statuses = () => us.watched.map(one => one.status)
  pipe.run(300_000)
  assert.equal(statuses(), ['reachable'])
  silent.add('192.0.2.3')
  pipe.run(600_000)
  assert.equal(statuses(), ['reachable', 'unreachable'])
  silent.delete('192.0.2.2')
  pipe.run(900_000)
  assert.equal(statuses(), ['reachable', 'unreachable', 'reachable'])
})

test('a host that says 503 is passed over for the next one', () => {
  const pipe = new Pipe()
  const us = new Party(pipe, '192.0.2.1')
  new Party(pipe, '192.0.2.2', { optionsStatus: () => ({ status: 503 }) })
  const second = new Party(pipe, '192.0.2.3')
  us.do(us.agent.watch({ ...WATCH, others: [{ transport: 'udp', host: '192.0.2.3', port: 5060 }] }, 0))
  pipe.run(1000)
  assert.equal(us.watched, [{ watchId: 'conn_1', status: 'reachable', sipCode: null }])
  assert.is(second.sentLike('SIP/2.0 200').length, 1)
})

test('a refusal is an answer too', () => {
  const { pipe, statuses } = scene(403)
  pipe.run(2000)
  assert.equal(statuses(), ['reachable'])
})

test('three answers missed in a row: unreachable; the next answer brings it back', () => {
  const { pipe, us, statuses } = scene()
  pipe.run(2000)
  pipe.lose = () => true
  pipe.run(60_000)
  assert.equal(statuses(), ['reachable', 'unreachable'])
  assert.is(us.watched.at(-1)!.sipCode, 408)
  assert.is(us.agent.transactionCount, 0, 'no OPTIONS is left behind')
  pipe.lose = () => false
  pipe.run(100_000)
  assert.equal(statuses(), ['reachable', 'unreachable', 'reachable'])
})

test('two misses are none', () => {
  const { pipe, statuses } = scene()
  pipe.run(2000)
  let lost = 0
  const calls = new Set<string>()
  pipe.lose = text => {
    const cseq = /CSeq: (\d+)/.exec(text)?.[1] ?? ''
    calls.add(cseq)
    if (calls.size <= 2) lost++
    return calls.size <= 2
  }
  pipe.run(100_000)
  assert.ok(lost > 2)
  assert.equal(statuses(), ['reachable'])
})

test('a far end that drains, with 503, is not there', () => {
  const { pipe, us } = scene(503)
  pipe.run(30_000)
  assert.equal(us.watched, [{ watchId: 'conn_1', status: 'unreachable', sipCode: 503 }])
})

test('what is not watched any more is not asked', () => {
  const { pipe, us } = scene()
  pipe.run(2000)
  us.do(us.agent.unwatch('conn_1', 2000))
  pipe.run(200_000)
  assert.is(us.sentLike('OPTIONS').length, 1)
  assert.is(us.agent.watchCount, 0)
})

test.run()
