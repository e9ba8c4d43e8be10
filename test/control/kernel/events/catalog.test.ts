import * as assert from 'uvu/assert'
import '../../../../control/wiring/event-catalog.ts'
import { compileValidator } from '../../../../control/http/wire/validation.ts'
import { eventTypes, kindOfEvent } from '../../../../control/kernel/events/catalog.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/kernel/events/catalog')

for (const type of eventTypes()) {
  test(`the sample of ${type} is what its schema says`, () => {
    const { object, sample } = kindOfEvent(type)!
    const validate = compileValidator({ ...object, additionalProperties: false })
    assert.ok(validate(sample), JSON.stringify(validate.errors))
  })
}

test('event types are dotted names, but for ping', () => {
  for (const type of eventTypes().filter(name => name !== 'ping')) assert.match(type, /^[a-z_]+(\.[a-z_]+)+$/)
})

test.run()
