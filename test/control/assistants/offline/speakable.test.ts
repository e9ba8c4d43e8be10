import * as assert from 'uvu/assert'
import { speakable } from '../../../../control/assistants/offline/speakable.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/assistants/offline/speakable')

test('numbers, prices, times, telephone numbers and addresses are said in words', () => {
  const said: [string, string][] = [
    ['A check-up costs €55, X-rays included.', 'A check-up costs fifty-five euros, X-rays included.'],
    [
      'It is $3.99, or $1,250 a year.',
      'It is three dollars ninety-nine, or one thousand two hundred fifty dollars a year.',
    ],
    ['£1', 'one pound'],
    ['Shipping is 6.90 euros.', 'Shipping is six euros ninety.'],
    ['Call +49 30 5550 177.', 'Call plus four nine, three zero, five five five zero, one seven seven.'],
    ['(718) 555-0142', 'seven one eight, five five five, zero one four two'],
    ['Write to ciao@luigis.example.', 'Write to ciao at luigis dot example.'],
    ['Open 8:30 am - 6 pm.', 'Open eight thirty a m to six p m.'],
    ['From 6 pm. After that we charge.', 'From six p m. After that we charge.'],
    ['Open 9:00-17:30', 'Open nine to five thirty in the afternoon'],
    ['3-5 days, 45% off', 'three to five days, forty-five percent off'],
    ['Since 1984.', 'Since nineteen eighty-four.'],
    ['nothing to change', 'nothing to change'],
  ]
  for (const [written, spoken] of said) assert.is(speakable(written), spoken)
})

test.run()
