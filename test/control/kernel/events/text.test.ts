import * as assert from 'uvu/assert'
import '../../../../control/wiring/event-catalog.ts'
import { eventTypes, kindOfEvent } from '../../../../control/kernel/events/catalog.ts'
import { eventText, toEvent } from '../../../../control/kernel/events/event.ts'
import { CURRENT_VERSION } from '../../../../control/kernel/versions/current.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/kernel/events/text')

test('the text of an event is that of the event as the API shows it, whatever it is about and whoever has caused it', () => {
  const requests = [
    { request_id: null, idempotency_key: null },
    { request_id: 'req_1', idempotency_key: null },
    { request_id: 'req_1', idempotency_key: 'a "key" \u2028' },
  ]
  for (const type of eventTypes()) {
    const object = kindOfEvent(type)!.sample
    for (const previous_attributes of [undefined, { name: 'Zoë "x"', updated: null }]) {
      for (const request of requests) {
        const row = {
          ...{ id: 'evt_1', type, timestamp: '2026-11-26T05:30:00.000Z', api_version: CURRENT_VERSION },
          ...{ data: JSON.stringify({ object, previous_attributes }), call_id: null, object_id: null },
          ...{ organisation_id: 'org_1', livemode: 1, ...request },
        }
        assert.is(eventText(row as never), JSON.stringify(toEvent(row as never)))
      }
    }
  }
})

test.run()
