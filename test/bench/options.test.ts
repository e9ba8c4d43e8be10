import * as assert from 'uvu/assert'
import { readOptions } from '../../bench/options.ts'
import { suite } from '../harness.ts'

const test = suite('bench/options')

const said = (...args: string[]): string => {
  try {
    readOptions(args)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('an option that no bench, or not the chosen one, would heed is refused', () => {
  assert.is(said('--capacity', '--soak', '2'), '--capacity and --soak are different benches: choose one')
  assert.is(said('--rates', '25'), '--rates is an option of --calls')
  assert.is(said('--virtual'), '--virtual is an option of --copilot')
  assert.match(said('--soak', '0'), /--soak must be a whole number from 1 to/)
  assert.match(said('--sockets', 'auto,node'), /--sockets: there is no auto,node, only auto, native, node/)
  assert.match(said('--calls', '--rates', 'none'), /--rates must be a whole number/)
  assert.match(said('--hearing', '1', '--sets', 'none'), /--sets: there is no none/)
  assert.match(said('--buffers', '--only', '('), /^--only: /)
})

test('what belongs together is accepted', () => {
  assert.is(readOptions(['--soak', '60', '--busy'])!.soak, 60)
  assert.equal(readOptions(['--calls', '--rates', '5,10'])!.rates, [5, 10])
  assert.equal(readOptions(['--hearing', '3', '--sets', 'held', '--only', 'answer'])!.sets, ['held'])
  assert.equal(readOptions(['--rooms', 'none', '--seconds', '5', '--sockets', 'node'])!.rooms, [])
  assert.is(readOptions([])!.soak, 0)
  assert.is(readOptions(['--help']), null)
})

test.run()
