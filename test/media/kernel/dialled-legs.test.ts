import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { DialledLegs } from '../../../media/kernel/dialled-legs.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/dialled-legs')

const nobody = (): boolean => false

/** A data directory, and how a process begins in it. */
function makeNode() {
  const dir = mkdtempSync(join(tmpdir(), 'tandem-dialled-'))
  const path = join(dir, 'dialled-legs')
  const errors: unknown[] = []
  const broke = (error: unknown): void => void errors.push(error)
  const begin = (machineStart: string | null = 'monday', isLive: (legId: string) => boolean = nobody): DialledLegs =>
    new DialledLegs({ path, machineStart, isLive, broke })
  return { dir, path, errors, begin, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

test('a process that is killed has left whom it called to the next one, and that one to the third', () => {
  const { path, begin, remove } = makeNode()
  const first = begin()
  assert.is(first.before, null, 'nothing is known of what was before')
  first.note('prt_1')
  first.note('prt_2')
  first.note('prt_1')
  assert.is(readFileSync(path, 'utf8'), 'monday\nprt_1\nprt_2\n', 'it is there as soon as it is noted')
  // A process that was killed while it wrote a line had not sent that INVITE.
  writeFileSync(path, 'monday\nprt_1\nprt_2\nprt_')
  const second = begin()
  assert.equal(second.before, ['prt_1', 'prt_2', 'prt_'])
  second.note('prt_3')
  assert.equal(begin().before, ['prt_1', 'prt_2', 'prt_', 'prt_3'])
  remove()
})

test('a process that has called nobody does not make known what was not', () => {
  const { begin, remove } = makeNode()
  assert.is(begin().before, null)
  assert.is(begin().before, null)
  remove()
})

test('after another start of the machine it is not known: the last lines may be lost with the power', () => {
  const { begin, remove } = makeNode()
  begin('monday').note('prt_1')
  assert.is(begin('tuesday').before, null)
  begin('tuesday').note('prt_2')
  assert.equal(begin('tuesday').before, ['prt_2'])
  begin(null).note('prt_3')
  assert.is(begin(null).before, null)
  remove()
})

test('the file does not grow for ever: it keeps the newest legs, and those that still run', () => {
  const { path, begin, remove } = makeNode()
  const legs = begin('monday', legId => legId === 'prt_0')
  for (let n = 0; n <= 50_000; n++) legs.note(`prt_${n}`)
  const kept = begin().before!
  assert.ok(kept.length >= 10_000 && kept.length <= 20_001, String(kept.length))
  assert.equal([kept.includes('prt_0'), kept.includes('prt_1'), kept.at(-1)], [true, false, 'prt_50000'])
  assert.ok(readFileSync(path, 'utf8').length < 300_000)
  remove()
})

test('where it cannot be written, calls go on, and the next process knows nothing rather than something wrong', () => {
  const { dir, begin, errors, remove } = makeNode()
  const legs = begin()
  legs.note('prt_1')
  legs.close()
  const second = begin()
  // As on a disk that takes no more: its file is gone from under it.
  second.close()
  rmSync(dir, { recursive: true })
  second.note('prt_2')
  second.note('prt_3')
  assert.is(errors.length, 1)
  assert.is(begin().before, null)
  remove()
})

test.run()
