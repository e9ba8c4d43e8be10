import * as assert from 'uvu/assert'
import { hoursIn, type Span, spansOn } from '../../../../control/assistants/offline/opening-hours.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/assistants/offline/opening-hours')

/** As `days hours-hours`, days from 0 for Monday. */
const told = (sentence: string): string[] =>
  hoursIn(sentence).map(({ days, spans }) => `${days.join('')} ${spans.map(inHours).join(',') || 'closed'}`)
const inHours = ({ from, to }: Span): string => `${from === null ? '?' : from / 60}-${to === null ? '?' : to / 60}`

test('opening hours are read as businesses write them', () => {
  const written: [string, ...string[]][] = [
    ['We are open Monday to Thursday from 8:30 am to 6 pm and on Friday until 4 pm.', '0123 8.5-18', '4 ?-16'],
    ['Our hours are nine in the morning to six in the evening, from Monday to Friday.', '01234 9-18'],
    ['On Saturday we open from ten to two.', '5 10-14'],
    ['Sunday through Thursday: 11am - 10pm.', '60123 11-22'],
    ['Friday and Saturday: 11am – midnight.', '45 11-24'],
    ['Tuesday: closed.', '1 closed'],
    ['Mon-Fri 9-17:30, Sat 10-14', '01234 9-17.5', '5 10-14'],
    ['From 8 am to 8 pm on weekdays and from 9 am to 5 pm at weekends.', '56 9-17', '01234 8-20'],
    ['Breakfast is served from 6:30 to 10 am, on weekends until 11 am.', '0123456 6.5-10', '56 ?-11'],
    ['The restaurant is open from 5:30 pm to 10 pm, except on Mondays.', '0123456 17.5-22', '0 closed'],
    ['The line is open day and night.', '0123456 0-24'],
    ['The bar opens at 4 pm.', '0123456 16-?'],
    ['Delivery takes three to five working days.'],
    ['A cleaning costs 75 euros.'],
  ]
  for (const [sentence, ...hours] of written) assert.equal(told(sentence), hours, sentence)
})

test('a rule of one day goes before a rule of many', () => {
  const rules = hoursIn('Open daily from 9 to 5.').concat(hoursIn('Closed on Tuesdays.'))
  assert.equal(spansOn(rules, 1), [])
  assert.equal(spansOn(rules, 2), [{ from: 540, to: 1020 }])
})

test.run()
