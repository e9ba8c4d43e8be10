import Type from 'typebox'
import { operations, type Route } from '../http/route.ts'
import { eventTypes, kindOfEvent } from '../kernel/events/catalog.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { input, oneOf } from '../kernel/schema.ts'

const api = operations('Test helpers', 'test_helpers')

/** Specification, "TestHelperEvent". */
const testEventSchema = Type.Object(
  {
    object: Type.Literal('test_event'),
    id: Type.String({ description: 'ID of the event, `evt_…`.' }),
    type: Type.String(),
    livemode: Type.Boolean(),
  },
  { title: 'TestHelperEvent' },
)

export function testHelperRoutes({ now }: { now: () => Date }): Route[] {
  return [
    api.post({
      path: '/test_helpers/events',
      id: 'createTestEvent',
      summary: 'Emit a sample event',
      description:
        'Stored, and delivered to the test-mode webhook endpoints that subscribe to its type, like any event.',
      mode: 'test',
      body: input({ type: oneOf(eventTypes(), { description: 'An event type of the catalogue.' }) }),
      status: 201,
      reply: testEventSchema,
      errors: [409],
      handler: async (context, { body: { type } }) => {
        const object = { ...kindOfEvent(type)!.sample, livemode: context.livemode }
        const event = { type, at: now().toISOString(), object }
        return context.transaction(async trx => {
          const id = await appendEvent(trx, context, event)
          return { object: 'test_event' as const, id, type, livemode: context.livemode }
        })
      },
    }),
  ]
}
