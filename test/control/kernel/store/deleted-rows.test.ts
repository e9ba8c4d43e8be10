// One database: it is about what SQLite leaves in its file. PostgreSQL has its VACUUM.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { openStore } from '../../../../control/kernel/store/store.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/kernel/store/deleted rows')

test('what is deleted is not left in the file', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'deleted-'))
  const file = join(directory, 'tandem.db')
  const said = Array.from({ length: 300 }, (_, n) => `my passphrase is ${n} ${'and so on '.repeat(n % 100)}`)
  const first = await openStore(file)
  const rows = said.map((value, n) => ({ name: `n${n}`, value }))
  await first.db.insertInto('settings').values(rows).execute()
  await first.close()
  assert.ok(readFileSync(file).includes('my passphrase'))
  const second = await openStore(file)
  await second.db.deleteFrom('settings').where('name', 'like', 'n%').execute()
  await second.close()
  assert.not.ok(readFileSync(file).includes('my passphrase'))
  rmSync(directory, { recursive: true })
})

test.run()
