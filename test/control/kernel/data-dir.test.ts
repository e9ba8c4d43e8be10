import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { lockDataDir, mediaSocketPath, prepareDataDir, writePid } from '../../../control/kernel/data-dir.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/data-dir')

let folder = ''
test.beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
})
test.afterEach(() => rmSync(folder, { recursive: true }))

const errorOf = (result: object | null): string => (result !== null && 'error' in result ? String(result.error) : '')

test('the data directory is locked against a second instance, which is told whose it is', () => {
  assert.is(prepareDataDir(folder), null)
  const first = lockDataDir(folder)
  assert.ok('release' in first)
  writePid(folder, 'supervisor', 4711)
  const second = lockDataDir(folder)
  assert.match(errorOf(second), '4711')
  assert.match(errorOf(second), 'TANDEM_DATA_DIR')
  assert.not.match(errorOf(second), '\n')
  first.release()
  const third = lockDataDir(folder)
  assert.ok('release' in third)
  third.release()
})

test('the lock of a process that was killed with -9 is free', async () => {
  assert.is(prepareDataDir(folder), null)
  const module = new URL('../../../control/kernel/data-dir.ts', import.meta.url).href
  const script = `import { lockDataDir } from '${module}'; lockDataDir('${folder}'); console.log('locked'); setInterval(() => {}, 1e6)`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script])
  await once(child.stdout, 'data')
  assert.match(errorOf(lockDataDir(folder)), 'Another Tandem')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const lock = lockDataDir(folder)
  assert.ok('release' in lock)
  lock.release()
})

test('a data directory that cannot be one is refused in one line', () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below'), '/proc/tandem']) {
    const line = errorOf(prepareDataDir(path))
    assert.match(line, path)
    assert.match(line, 'TANDEM_DATA_DIR')
    assert.not.match(line, '\n')
  }
})

test('the socket lies in the data directory unless its path is too long for sun_path', () => {
  assert.is(mediaSocketPath('/srv/tandem'), '/srv/tandem/run/media.sock')
  const long = mediaSocketPath(`/${'x'.repeat(100)}`)
  assert.ok(Buffer.byteLength(long) <= 103)
  assert.ok(long.startsWith(tmpdir()))
  assert.is.not(long, mediaSocketPath(`/${'x'.repeat(101)}`))
})

test.run()
