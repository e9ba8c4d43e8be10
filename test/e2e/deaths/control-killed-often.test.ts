// Takes a core: it repeats one thing as fast as it can.
import * as assert from 'uvu/assert'
import { describeKills, runKills } from '../../../bench/kills/run.ts'
import { suite } from '../../harness.ts'

const test = suite('e2e/deaths/control-killed-often')
/** Time for the kills: a slow machine does fewer, which the test reports. `npm run bench -- --kills 100` tries more moments. */
const BUDGET_MS = 40_000
const KILLS = 12

test(
  'kill -9 of control again and again under load: no acknowledged write lost, no webhook lost, no idempotency key forgotten, running calls unharmed',
  async () => {
    const report = await runKills({ kills: KILLS, budgetMs: BUDGET_MS })
    console.log(describeKills(report).join('\n'))
    assert.equal(report.problems, [])
    assert.ok(report.kills > 0 && report.acknowledged > 0 && report.calls.answered > 0, 'there was a load')
    assert.ok(report.retried > 0, 'no kill found a write under way: the test proves nothing')
    assert.is(report.packets.missing, 0, 'the running calls have heard every packet')
  },
  { timeoutMs: 230_000 },
)

test.run()
