import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { openStore } from '../../../control/kernel/store/store.ts'
import { forkFile } from '../../fork.ts'
import { suite } from '../../harness.ts'
import { makeDatabase } from '../database.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite('control/imports/killed')

const ENTRY = 'control/imports/killable-import.ts'
const ROWS = 3000
const KILLS = 3

test(
  'an import whose process is killed with -9 goes on where it stands as soon as its node is there again: each row is written once, and counted once',
  async () => {
    const { target, remove } = await makeDatabase()
    const store = await openStore(target)
    const app = await makeWholeApp({ now: () => new Date() }, store)
    const numbers = Array.from({ length: ROWS }, (_, i) => `+97250${1_000_000 + i}`)
    // A bad row and one that comes twice, every hundred rows.
    const lines = numbers.flatMap((number, i) => (i % 100 === 99 ? [number, 'nobody', numbers[i - 70]] : [number]))
    const file = { content_base64: Buffer.from(['phone', ...lines].join('\n')).toString('base64') }
    const { body } = await app.live('POST /v1/imports', { target: 'do_not_call_numbers', file })
    const status = async () => (await app.live(`GET /v1/imports/${body.id}`)).body

    for (let kill = 0; kill < KILLS; kill++) {
      const victim = forkFile(ENTRY, [target])
      for (let batches = 0; batches <= kill * 4; batches++) await once(victim, 'message')
      victim.kill('SIGKILL')
      await once(victim, 'exit')
      assert.is((await status()).status, 'running')
    }
    const last = forkFile(ENTRY, [target])
    while ((await status()).status === 'running') await new Promise(resolve => setTimeout(resolve, 20))
    last.kill('SIGKILL')
    await once(last, 'exit')

    const done = await status()
    const bad = ROWS / 100
    assert.equal(
      [done.status, done.rows],
      ['completed', { read: lines.length, written: ROWS, duplicate: bad, failed: bad }],
    )
    const rows = await store.db.selectFrom('do_not_call').select('phone').orderBy('id').execute()
    assert.equal(
      rows.map(({ phone }) => phone),
      numbers,
    )
    const report = (await app.live(`GET /v1/imports/${body.id}/errors`)).text.split('\r\n').slice(1, -1)
    assert.equal(
      report.map(line => line.split(',').slice(0, 2).join(' ')),
      lines.flatMap((line, i) => (line === 'nobody' ? [`${i + 2} invalid`, `${i + 3} duplicate`] : [])),
    )
    assert.is((await app.events('import.completed')).length, 1)
    await app.close()
    await remove()
  },
  { timeoutMs: 60_000 },
)

test.run()
