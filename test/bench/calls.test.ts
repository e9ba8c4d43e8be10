import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { costOfCall, PARTS, type Spent } from '../../bench/calls/cost.ts'
import { Flood } from '../../bench/calls/flood.ts'
import type { RushResult } from '../../bench/calls/rush-process.ts'
import { holds } from '../../bench/calls/table.ts'
import { suite } from '../harness.ts'

const test = suite('bench/calls')

/** What has been spent `at` seconds, with so much CPU of each part [ms] and so many statements. */
const spent = (at: number, cpuMs: number, statements: number): Spent => ({
  cpu: Object.fromEntries(
    PARTS.map((part, n) => [part, { userMs: cpuMs * (n + 1), systemMs: cpuMs, at: at * 1000 }]),
  ) as Spent['cpu'],
  load: { userMs: 2 * cpuMs, systemMs: 0, at: at * 1000 },
  statements,
  transactions: statements / 10,
  events: statements / 5,
  late: 0,
  slots: at * 200,
})

test('what a call costs is what was spent beyond the standing legs and the jobs of every second, by part', () => {
  const idle = [spent(0, 0, 0), spent(5, 50, 100)] as const
  const busy = [spent(10, 1000, 1000), spent(20, 1300, 6200)] as const
  const { cpuMs, totalMs, loadMs, statements, transactions, events } = costOfCall(idle, busy, 100)
  // 30 and 10 ms a second of user and system in the first part, of which 10 and 10 are there without calls; 10 s, 100 calls.
  assert.ok(Math.abs(cpuMs['media: signalling'] - 4) < 1e-9, `${cpuMs['media: signalling']}`)
  assert.ok(Math.abs(cpuMs.control - 10) < 1e-9, `${cpuMs.control}`)
  assert.ok(Math.abs(totalMs - (4 + 6 + 8 + 10)) < 1e-9, `${totalMs}`)
  assert.ok(Math.abs(loadMs - 4) < 1e-9, `${loadMs} of the load, which is not in the sum`)
  assert.equal([statements, transactions, events], [50, 5, 10])
})

test('a rate holds when every call was whole and 99 of 100 were set up within 100 ms', () => {
  const rush = (more: Partial<RushResult>) => ({
    rush: {
      ...{ rate: 10, begun: 100, whole: 100, refused: 0, failed: 0, problems: [], heardMs: null },
      setUpMs: { count: 100, p50: 5, p95: 20, p99: 99, max: 300 },
      ...more,
    },
  })
  assert.ok(holds(rush({})))
  assert.not(holds(rush({ whole: 99, refused: 1 })))
  assert.not(holds(rush({ setUpMs: { count: 100, p50: 5, p95: 20, p99: 101, max: 300 } })))
  assert.not(holds(rush({ begun: 0, whole: 0, setUpMs: null })))
})

test('a flood comes from as many hosts as it has, a third of it OPTIONS, a third INVITE, a third garbage', async () => {
  const target = createSocket('udp4')
  target.bind(0, '127.0.0.1')
  await once(target, 'listening')
  const [hosts, kinds] = [new Set<string>(), new Map<string, number>()]
  const enough = new Promise<void>(done => {
    let count = 0
    target.on('message', (bytes, { address }) => {
      hosts.add(address)
      const kind = /^[A-Z]+/.exec(bytes.toString('latin1'))?.[0] ?? 'garbage'
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      if (++count === 90) done()
    })
  })
  const flood = await Flood.open(30, { host: '127.0.0.1', port: target.address().port })
  flood.begin(1000)
  await enough
  flood.close()
  target.close()
  assert.is(hosts.size, 30)
  for (const kind of ['OPTIONS', 'INVITE', 'garbage']) assert.ok(kinds.get(kind)! >= 30, `${kind}: ${kinds.get(kind)}`)
})

test.run()
