import * as assert from 'uvu/assert'
import { Followings } from '../../../../media/speech/hearing/followings.ts'
import { ScriptedEar } from '../../../fakes/scripted-ear.ts'
import { suite } from '../../../harness.ts'

const PART = new Int16Array(800)

let ear: ScriptedEar
let followings: Followings

const test = suite('media/speech/hearing/followings')

test.beforeEach(() => {
  ear = new ScriptedEar()
  ear.follows = true
  followings = new Followings(ear)
})
test.afterEach(() => ear.close())

test('an utterance is followed from its first sample to its end', () => {
  followings.append(1, 0, PART, null)
  followings.append(1, 800, PART, null)
  assert.ok(followings.take(1) !== undefined)
  assert.equal(ear.followed, ['+800', '+800'])
  assert.is(followings.size, 0)
})

test('what had no room at its beginning is not followed from the middle on: it goes as a whole', () => {
  ear.follows = false
  followings.append(1, 0, PART, null)
  ear.follows = true
  followings.append(1, 800, PART, null)
  assert.is(followings.take(1), undefined)
  assert.equal(ear.followed, [])
})

test('a process that was started in the middle of an utterance does not take the rest for all of it', () => {
  followings.append(1, 1600, PART, null)
  assert.is(followings.take(1), undefined)
  assert.equal(ear.followed, [])
})

test('an utterance of which a part was missed is followed no further', () => {
  followings.append(1, 0, PART, null)
  followings.append(1, 1600, PART, null)
  followings.append(1, 2400, PART, null)
  assert.equal(ear.followed, ['+800', 'drop'])
  assert.is(followings.size, 0)
})

test.run()
