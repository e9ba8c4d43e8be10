import { voicemailEvents } from '../assistants/voicemail/events.ts'
import { callbackEvents } from '../callbacks/events.ts'
import { callEvents } from '../calls/events.ts'
import { programEvents } from '../calls/programs/events.ts'
import { campaignEvents } from '../campaigns/events.ts'
import { consentEvents } from '../consents/events.ts'
import { copilotEvents } from '../copilot/sessions/events.ts'
import { doNotCallEvents } from '../do-not-call/events.ts'
import { flowEvents } from '../flows/events.ts'
import { importEvents } from '../imports/events.ts'
import { registerEvents } from '../kernel/events/catalog.ts'
import { knowledgeEvents } from '../knowledge/events.ts'
import { messageEvents } from '../messages/events.ts'
import { partnerEvents } from '../partners/events.ts'
import { qualityEvents } from '../quality/events.ts'
import { queueEvents } from '../queues/events.ts'
import { reportEvents } from '../reports/events.ts'
import { conferenceEvents } from '../rooms/events.ts'
import { secretEvents } from '../secrets/events.ts'
import { toolEvents } from '../tools/events.ts'
import { trunkEvents } from '../trunks/events.ts'
import { webhookEvents } from '../webhooks/events.ts'

/** Every noun's event types, in the order of their documentation. */
for (const events of [
  callEvents,
  programEvents,
  conferenceEvents,
  queueEvents,
  callbackEvents,
  doNotCallEvents,
  consentEvents,
  campaignEvents,
  importEvents,
  copilotEvents,
  flowEvents,
  knowledgeEvents,
  qualityEvents,
  reportEvents,
  trunkEvents,
  voicemailEvents,
  messageEvents,
  webhookEvents,
  toolEvents,
  secretEvents,
  partnerEvents,
]) {
  registerEvents(events)
}
