import * as assert from 'uvu/assert'
import { soundDistance } from '../../../control/flows/sounds.ts'
import { suite } from '../../harness.ts'

const test = suite('control/flows/sounds')

/** The phrase of these that is nearest to what was said; null: none, or two. */
function nearest(said: string, phrases: readonly string[]): string | null {
  const found = phrases.flatMap(phrase => {
    const distance = soundDistance(said, phrase)
    return distance === null ? [] : [{ phrase, distance }]
  })
  const least = Math.min(...found.map(({ distance }) => distance))
  const best = found.filter(({ distance }) => distance === least)
  return best.length === 1 ? best[0]!.phrase : null
}

test('what the offline engine wrote for single words is the word among the choices that was said', () => {
  const menu = ['sales', 'support', 'billing', 'operator', 'cancel']
  for (const [heard, said] of [
    ['Sayles.', 'sales'],
    ['Sails.', 'sales'],
    ['The part,', 'support'],
    ['Support.', 'support'],
    ['Bill in.', 'billing'],
    ['Council.', 'cancel'],
  ]) {
    assert.is(nearest(heard!, menu), said!, heard)
  }
  assert.is(nearest('Yeah.', ['yes', 'no']), 'yes')
  assert.is(nearest('Know.', ['yes', 'no']), 'no')
  const digits = ['one', 'two', 'three', 'four', 'five', 'six']
  assert.is(nearest('Seeks.', digits), 'six')
  assert.is(nearest('Do.', digits), 'two')
  assert.is(nearest('2', digits), 'two')
})

test('what sounds like none of the choices, or like two, is none', () => {
  assert.is(nearest('Tomorrow morning.', ['sales', 'support']), null)
  assert.is(nearest('I would like to buy a car.', ['sales', 'support']), null)
  assert.is(nearest('Maybe.', ['yes', 'no']), null)
  assert.is(nearest('sail', ['sale', 'seal']), null)
  assert.is(nearest('', ['sales']), null)
})

test('words of other scripts have no sound here', () => {
  assert.is(soundDistance('מכירות', 'תמיכה'), null)
  assert.is(soundDistance('sales', 'מכירות'), null)
})

test('a word that every object of JavaScript knows is a word like others', () => {
  assert.is(nearest('Constructor.', ['constructor', 'support']), 'constructor')
})

test.run()
