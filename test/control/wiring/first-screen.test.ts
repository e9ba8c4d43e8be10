import * as assert from 'uvu/assert'
import { FirstScreen } from '../../../control/wiring/first-screen.ts'
import { suite } from '../../harness.ts'

const test = suite('control/wiring/first-screen')

test('that speech is ready is shown behind the first screen, whichever of them is ready first', () => {
  for (const speechFirst of [true, false]) {
    const shown: string[] = []
    const screen = new FirstScreen(text => shown.push(text))
    if (speechFirst) {
      screen.speechReady()
      assert.equal(shown, [])
    }
    screen.show('the first screen')
    if (!speechFirst) screen.speechReady()
    assert.equal([shown.length, shown[0]], [2, 'the first screen'])
    assert.match(shown[1] ?? '', 'Speech is ready')
  }
})

test.run()
