import * as assert from 'uvu/assert'
import type { Counters, Peer } from '../../../sip/agent-types.ts'
import type { SipRequest, SipResponse } from '../../../sip/message/message.ts'
import { parseMessage } from '../../../sip/message/parse.ts'
import { Deadlines } from '../../../sip/transaction/deadlines.ts'
import { DEFAULT_TIMERS } from '../../../sip/transaction/timers.ts'
import { Transactions } from '../../../sip/transaction/transactions.ts'
import { suite } from '../../harness.ts'
import { message } from '../pipe.ts'

const test = suite('sip/transaction/transactions')
const UDP: Peer = { transport: 'udp', host: '192.0.2.9', port: 5060 }
const TCP: Peer = { transport: 'tcp', host: '192.0.2.9', port: 5060 }

/** Transactions on a virtual clock; `log` holds `time first-word` of everything sent and reported. */
class Bench {
  now = 0
  readonly deadlines = new Deadlines()
  readonly timers = DEFAULT_TIMERS
  readonly log: string[] = []
  readonly counters = { retransmissionsSent: 0, retransmissionsReceived: 0 } as Counters
  readonly transactions = new Transactions(this, 100)

  send(bytes: Uint8Array): void {
    const line = Buffer.from(bytes).toString('latin1').split('\r\n')[0]!
    this.log.push(`${this.now} ${line.startsWith('SIP') ? line.split(' ')[1] : line.split(' ')[0]}`)
  }

  start(method: string, to: Peer) {
    const user = {
      response: (response: SipResponse) => this.log.push(`${this.now} got ${response.status}`),
      failed: (cause: string) => this.log.push(`${this.now} ${cause}`),
    }
    const request = {
      method,
      uri: 'sip:b@h',
      via: 'SIP/2.0/UDP a;branch=z9hG4bKx',
      route: ['<sip:p;lr>'],
      from: '<sip:a@h>;tag=1',
    }
    const rest = { to: '<sip:b@h>', callId: 'c', cseq: 5, headers: [], body: null }
    return this.transactions.start({ ...request, ...rest }, 'z9hG4bKx', to, user, this.now)
  }

  response(status: number, method: string): boolean {
    const lines = [
      'Via: SIP/2.0/UDP a;branch=z9hG4bKx',
      'From: <sip:a@h>;tag=1',
      'To: <sip:b@h>;tag=9',
      'Call-ID: c',
      `CSeq: 5 ${method}`,
    ]
    return this.transactions.response(parseMessage(message(`SIP/2.0 ${status} X`, ...lines)) as SipResponse, this.now)
  }

  run(untilMs: number): void {
    for (let next = this.deadlines.next(); next !== null && next <= untilMs; next = this.deadlines.next()) {
      this.now = Math.max(this.now, next)
      this.deadlines.advance(this.now)
    }
    this.now = untilMs
  }
}

function request(method: string, branch = ';branch=z9hG4bKy', cseq = method): SipRequest {
  const lines = [
    `Via: SIP/2.0/UDP a${branch}`,
    'From: <sip:a@h>;tag=1',
    'To: <sip:b@h>',
    'Call-ID: c',
    `CSeq: 5 ${cseq}`,
  ]
  return parseMessage(message(`${method} sip:b@h SIP/2.0`, ...lines)) as SipRequest
}

test('INVITE over UDP: timer A doubles without bound, timer B ends it after 64*T1', () => {
  const bench = new Bench()
  bench.start('INVITE', UDP)
  bench.run(40_000)
  assert.equal(bench.log, [...[0, 500, 1500, 3500, 7500, 15_500, 31_500].map(at => `${at} INVITE`), '32000 timeout'])
  assert.is(bench.transactions.size, 0)
})

test('non-INVITE over UDP: timer E doubles up to T2, timer F ends it after 64*T1', () => {
  const bench = new Bench()
  bench.start('OPTIONS', UDP)
  bench.run(40_000)
  const times = [0, 500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]
  assert.equal(bench.log, [...times.map(at => `${at} OPTIONS`), '32000 timeout'])
})

test('after a provisional response INVITE is quiet and non-INVITE repeats every T2', () => {
  const invite = new Bench()
  invite.start('INVITE', UDP)
  invite.response(180, 'INVITE')
  invite.run(100_000)
  assert.equal(invite.log, ['0 INVITE', '0 got 180'])
  assert.is(invite.transactions.size, 1)
  const options = new Bench()
  options.start('OPTIONS', UDP)
  options.response(100, 'OPTIONS')
  options.run(9000)
  assert.equal(options.log, ['0 OPTIONS', '0 got 100', '500 OPTIONS', '4500 OPTIONS', '8500 OPTIONS'])
})

test('over TCP nothing is sent again, but B and F still run', () => {
  for (const method of ['INVITE', 'OPTIONS']) {
    const bench = new Bench()
    bench.start(method, TCP)
    bench.run(40_000)
    assert.equal(bench.log, [`0 ${method}`, '32000 timeout'])
  }
})

test('a failure is acknowledged in the transaction each time it comes, for 32 s (timer D)', () => {
  const bench = new Bench()
  bench.start('INVITE', UDP)
  bench.response(486, 'INVITE')
  bench.run(1000)
  bench.response(486, 'INVITE')
  assert.equal(bench.log, ['0 INVITE', '0 ACK', '0 got 486', '1000 ACK'])
  bench.run(31_999)
  assert.is(bench.transactions.size, 1)
  bench.run(32_000)
  assert.is(bench.transactions.size, 0)
  assert.not(bench.response(486, 'INVITE'))
})

test('timers D, I, J and K are zero over TCP', () => {
  const bench = new Bench()
  bench.start('INVITE', TCP)
  bench.response(486, 'INVITE')
  bench.run(0)
  assert.is(bench.transactions.size, 0)
  bench.start('OPTIONS', TCP)
  bench.response(200, 'OPTIONS')
  bench.run(0)
  assert.is(bench.transactions.size, 0)
  const options = bench.transactions.open(request('OPTIONS'), 'v', TCP)
  bench.transactions.respond(options, { status: 200 }, 0)
  bench.run(0)
  const invite = bench.transactions.open(request('INVITE'), 'v', TCP)
  bench.transactions.respond(invite, { status: 486 }, 0)
  assert.ok(bench.transactions.absorb(request('ACK'), 0))
  bench.run(0)
  assert.is(bench.transactions.size, 0)
})

test('every 2xx to an INVITE reaches the user until timer M (RFC 6026)', () => {
  const bench = new Bench()
  bench.start('INVITE', UDP)
  bench.response(200, 'INVITE')
  bench.run(31_999)
  bench.response(200, 'INVITE')
  assert.equal(bench.log, ['0 INVITE', '0 got 200', '31999 got 200'])
  bench.run(32_000)
  assert.not(bench.response(200, 'INVITE'))
})

test('a failure response is sent again by timer G until the ACK, and given up by timer H', () => {
  const bench = new Bench()
  const transaction = bench.transactions.open(request('INVITE'), 'SIP/2.0/UDP a', UDP)
  bench.transactions.respond(transaction, { status: 486 }, 0)
  bench.run(40_000)
  const times = [0, 500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]
  assert.equal(
    bench.log,
    times.map(at => `${at} 486`),
  )
  assert.is(bench.transactions.size, 0)
})

test('the ACK of a failure is absorbed, for T4 (timer I)', () => {
  const bench = new Bench()
  const transaction = bench.transactions.open(request('INVITE'), 'SIP/2.0/UDP a', UDP)
  bench.transactions.respond(transaction, { status: 486 }, 0)
  assert.ok(bench.transactions.absorb(request('ACK'), 0))
  bench.run(4999)
  assert.ok(bench.transactions.absorb(request('ACK'), 4999))
  assert.equal(bench.log, ['0 486'])
  bench.run(5000)
  assert.not(bench.transactions.absorb(request('ACK'), 5000))
})

test('a repeated request gets the last response again, and a repeated INVITE none once a 2xx went out', () => {
  const bench = new Bench()
  const options = bench.transactions.open(request('OPTIONS'), 'SIP/2.0/UDP a', UDP)
  assert.ok(bench.transactions.absorb(request('OPTIONS'), 0))
  bench.transactions.respond(options, { status: 200 }, 0)
  assert.ok(bench.transactions.absorb(request('OPTIONS'), 0))
  assert.is(bench.transactions.respond(options, { status: 500 }, 0), null)
  const invite = bench.transactions.open(request('INVITE'), 'SIP/2.0/UDP a', UDP)
  bench.transactions.respond(invite, { status: 180 }, 0)
  assert.ok(bench.transactions.absorb(request('INVITE'), 0))
  bench.transactions.respond(invite, { status: 200 }, 0)
  assert.ok(bench.transactions.absorb(request('INVITE'), 0))
  assert.not(bench.transactions.absorb(request('ACK'), 0), 'the ACK of a 2xx is for the dialog')
  assert.equal(bench.log, ['0 200', '0 200', '0 180', '0 180', '0 200'])
})

test('requests of RFC 2543 without a modern branch are matched by what they say', () => {
  const bench = new Bench()
  const transaction = bench.transactions.open(request('INVITE', ''), 'SIP/2.0/UDP a', UDP)
  assert.ok(bench.transactions.absorb(request('INVITE', ''), 0))
  assert.not(bench.transactions.absorb(request('INVITE', ';branch=1'), 0))
  assert.is(bench.transactions.cancelled(request('CANCEL', '')), transaction)
  bench.transactions.respond(transaction, { status: 486 }, 0)
  assert.ok(bench.transactions.absorb(request('ACK', ''), 0))
})

test('once it has its final response, no more of a request is kept than its repeats and a CANCEL need', () => {
  const bench = new Bench()
  const invite = bench.transactions.open(request('INVITE'), 'SIP/2.0/UDP a', UDP)
  bench.transactions.respond(invite, { status: 180, toTag: 'ours' }, 0)
  assert.is(bench.transactions.cancelled(request('CANCEL')), invite)
  bench.transactions.respond(invite, { status: 200, toTag: 'ours' }, 0)
  const settled = bench.transactions.cancelled(request('CANCEL'))
  assert.ok(settled !== null && 'toTag' in settled && settled.toTag === 'ours')
  const kept = Object.entries(settled).filter(([, value]) => typeof value === 'object' && value !== null)
  assert.equal(kept.map(([name]) => name).sort(), ['limit', 'machine', 'replyTo'])
  assert.is(bench.transactions.respond(invite, { status: 200 }, 0), null, 'it is answered once')
  bench.run(32_000)
  assert.is(bench.transactions.cancelled(request('CANCEL')), null)
})

test('a response belongs to the branch and to the method of CSeq', () => {
  const bench = new Bench()
  bench.start('INVITE', UDP)
  assert.not(bench.response(200, 'CANCEL'))
  assert.ok(bench.response(200, 'INVITE'))
})

test('a transport failure ends what is under way to that peer only', () => {
  const bench = new Bench()
  bench.start('OPTIONS', UDP)
  bench.transactions.transportFailed({ ...UDP, port: 5061 }, 1)
  assert.is(bench.transactions.size, 1)
  bench.transactions.transportFailed({ ...UDP }, 1)
  assert.equal(bench.log, ['0 OPTIONS', '0 unreachable'])
})

test('a call that may not reach a private address ends no call of others to it', () => {
  const bench = new Bench()
  bench.start('INVITE', UDP)
  bench.transactions.transportFailed({ ...UDP, publicOnly: true }, 1)
  assert.equal(bench.log, ['0 INVITE'])
})

test('deadlines fire in order of time and can be cancelled', () => {
  const deadlines = new Deadlines()
  const fired: number[] = []
  const all = [5, 3, 9, 1, 7, 2, 8, 4, 6].map(at => deadlines.set(at, () => fired.push(at)))
  deadlines.cancel(all[1]!)
  deadlines.cancel(all[1]!)
  deadlines.cancel(all[3]!)
  assert.is(deadlines.next(), 2)
  deadlines.advance(6)
  assert.equal(fired, [2, 4, 5, 6])
  deadlines.advance(100)
  assert.equal([fired, deadlines.next()], [[2, 4, 5, 6, 7, 8, 9], null])
})

test.run()
