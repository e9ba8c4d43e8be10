import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { CProgram } from '../../bench/yardstick/c-program.ts'
import { Metronome } from '../../bench/yardstick/metronome.ts'
import { suite } from '../harness.ts'

const test = suite('bench/metronome')

const metronome = await Metronome.start()
const sentence = 'the metronome ticks until it is stopped, and counts those that were late'
const check = async (): Promise<void> => {
  await sleep(300)
  const { ticks, behind, late } = await metronome!.stop()
  assert.ok(ticks >= 20, `${ticks} ticks`)
  assert.ok(late >= 0 && late <= behind && behind <= ticks, `${late} of ${behind} of ${ticks}`)
}
if (metronome === null) test.skip(sentence, 'there is no C compiler')
else test(sentence, check)

test('a file that is no C is told, with its name', () => {
  const program = CProgram.build('/nowhere.c')
  if (program instanceof CProgram) assert.unreachable('it compiles')
  else assert.match(program.missing, /\/nowhere\.c|no C compiler/)
})

test.run()
