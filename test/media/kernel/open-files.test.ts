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

test('what is left of it is told, and that it is used up, even when none is left to look by', () => {
  if (!existsSync('/proc/self/limits')) return
  const source = `
    import { openSync } from 'node:fs'
    const { fileGauges } = await import('./media/kernel/open-files.ts')
    const seen = [fileGauges()]
    const more = () => { try { return openSync('/dev/null') } catch { return null } }
    while (fileGauges().open_files_left > 1) more()
    seen.push(fileGauges())
    while (more() !== null);
    seen.push(fileGauges())
    console.log(JSON.stringify(seen))`
  const shell = 'ulimit -n 300 && exec "$0" --import tsx --input-type=module --eval "$1"'
  const said = execFileSync('/bin/sh', ['-c', shell, process.execPath, source], { encoding: 'utf8' })
  const [first, low, none] = JSON.parse(said) as { open_files_left: number; files_used_up: number }[]
  assert.ok(first!.open_files_left > 200 && first!.open_files_left < 300, `${first!.open_files_left}`)
  assert.equal(
    [first!.files_used_up, low, none],
    [0, { open_files_left: 1, files_used_up: 1 }, { open_files_left: 0, files_used_up: 1 }],
  )
})

test.run()
