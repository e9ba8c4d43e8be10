import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { filesFor } from '../../../media/kernel/open-files.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/open files')

test('how many files may be open is what the shell has allowed, and a call takes two', () => {
  if (!existsSync('/proc/self/limits')) return
  const program = "import('./media/kernel/open-files.ts').then(({ openFilesLimit }) => console.log(openFilesLimit()))"
  const shell = 'ulimit -n 300 && exec "$0" --import tsx --eval "$1"'
  const said = execFileSync('sh', ['-c', shell, process.execPath, program], { encoding: 'utf8' })
  assert.is(Number(said), 300)
  assert.is(filesFor(100), 300)
})

test.run()
