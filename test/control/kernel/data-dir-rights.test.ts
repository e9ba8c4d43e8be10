// Own process: for a moment it is a user who may not write everything.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { databaseFile, prepareDataDir } from '../../../control/kernel/data-dir.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/data directory rights')
const NOBODY = 65_534

function asNobody<T>(work: () => T): T {
  if (process.getuid?.() !== 0) return work()
  process.seteuid?.(NOBODY)
  try {
    return work()
  } finally {
    process.seteuid?.(0)
  }
}

test('a database that another user has made is named, not called broken', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-rights-'))
  for (const path of ['run', 'recordings']) mkdirSync(join(folder, path))
  for (const path of ['', 'run', 'recordings']) chmodSync(join(folder, path), 0o777)
  for (const end of ['', '-wal']) {
    writeFileSync(`${databaseFile(folder)}${end}`, '')
    chmodSync(`${databaseFile(folder)}${end}`, 0o666)
  }
  assert.is(
    asNobody(() => prepareDataDir(folder)),
    null,
  )
  chmodSync(`${databaseFile(folder)}-wal`, 0o444)
  const refused = asNobody(() => prepareDataDir(folder))
  assert.match(refused?.error ?? '', /tandem\.db-wal\): make it and its files writable, or set TANDEM_DATA_DIR/)
  rmSync(folder, { recursive: true })
})

test.run()
