import { callbackEvents } from './callbacks/events.ts'
import { callEvents } from './calls/events.ts'
import { trunkEvents } from './connections/events.ts'
import { registerEvents } from './events/catalog.ts'
import { flowEvents } from './flows/events.ts'
import { knowledgeEvents } from './kb/events.ts'
import { programEvents } from './live/program-events.ts'
import { voicemailEvents } from './live/voicemail-events.ts'
import { queueEvents } from './queues/events.ts'
import { reportEvents } from './reports/events.ts'
import { conferenceEvents } from './rooms/events.ts'
import { webhookEvents } from './webhooks/events.ts'

/** Every noun's event types, in the order of their documentation. */
for (const events of [
  callEvents,
  programEvents,
  conferenceEvents,
  queueEvents,
  callbackEvents,
  flowEvents,
  knowledgeEvents,
  reportEvents,
  trunkEvents,
  voicemailEvents,
  webhookEvents,
]) {
  registerEvents(events)
}
