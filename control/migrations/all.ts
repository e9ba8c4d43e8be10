import type { Migration } from 'kysely'
import { frame } from './001-frame.ts'
import { calls } from './002-calls.ts'
import { flows } from './020-flows.ts'
import { webhooks } from './021-webhooks.ts'
import { contactCentre } from './022-contact-centre.ts'
import { content } from './023-content.ts'
import { jobs } from './030-jobs.ts'
import { nodes } from './031-nodes.ts'
import { reportsAndMail } from './040-reports-and-mail.ts'
import { requestLogs } from './050-request-logs.ts'
import { usage } from './051-usage.ts'
import { routeHours } from './052-route-hours.ts'
import { browsers } from './060-browsers.ts'
import { sipAccounts } from './061-sip-accounts.ts'
import { programs } from './070-programs.ts'
import { transcripts } from './071-transcripts.ts'
import { queues } from './080-queues.ts'
import { sessions } from './081-sessions.ts'
import { doNotCall } from './090-do-not-call.ts'
import { runningAudio } from './092-running-audio.ts'
import { connections } from './094-connections.ts'
import { ledRings } from './095-led-rings.ts'
import { connectionSrtp } from './100-connection-srtp.ts'
import { reportArtifacts } from './103-report-artifacts.ts'
import { capturePauses } from './107-capture-pauses.ts'
import { inboundLookups } from './108-inbound-lookups.ts'
import { transcriptFailures } from './108-transcript-failures.ts'
import { dueCallbacks } from './109-due-callbacks.ts'
import { paymentRings } from './110-payment-rings.ts'
import { transcriptSpeakers } from './130-transcript-speakers.ts'
import { captureSettings } from './131-capture-settings.ts'
import { keptData } from './132-kept-data.ts'
import { legConnections } from './140-leg-connections.ts'
import { jobOwners } from './150-job-owners.ts'
import { heartbeats } from './151-heartbeats.ts'
import { registeredNodes } from './152-registered-nodes.ts'
import { devicelessAgents } from './153-deviceless-agents.ts'
import { softphoneOrigins } from './154-softphone-origins.ts'
import { softphoneDevices } from './155-softphone-devices.ts'
import { connectionNetworks } from './160-connection-networks.ts'
import { pinTries } from './161-pin-tries.ts'
import { revokedInvitations } from './170-revoked-invitations.ts'
import { callKeys } from './171-call-keys.ts'
import { queueVisits } from './172-queue-visits.ts'
import { eventObjects } from './173-event-objects.ts'
import { billing } from './174-billing.ts'
import { softphoneMetadata } from './184-softphone-metadata.ts'

/** In the order in which they run; a migration that was ever released is never edited. */
export const MIGRATIONS: Record<string, Migration> = {
  '001-frame': frame,
  '002-calls': calls,
  '020-flows': flows,
  '021-webhooks': webhooks,
  '022-contact-centre': contactCentre,
  '023-content': content,
  '030-jobs': jobs,
  '031-nodes': nodes,
  '040-reports-and-mail': reportsAndMail,
  '050-request-logs': requestLogs,
  '051-usage': usage,
  '052-route-hours': routeHours,
  '060-browsers': browsers,
  '061-sip-accounts': sipAccounts,
  '070-programs': programs,
  '071-transcripts': transcripts,
  '080-queues': queues,
  '081-sessions': sessions,
  '090-do-not-call': doNotCall,
  '092-running-audio': runningAudio,
  '094-connections': connections,
  '095-led-rings': ledRings,
  '100-connection-srtp': connectionSrtp,
  '103-report-artifacts': reportArtifacts,
  '107-capture-pauses': capturePauses,
  '108-inbound-lookups': inboundLookups,
  '108-transcript-failures': transcriptFailures,
  '109-due-callbacks': dueCallbacks,
  '110-payment-rings': paymentRings,
  '130-transcript-speakers': transcriptSpeakers,
  '131-capture-settings': captureSettings,
  '132-kept-data': keptData,
  '140-leg-connections': legConnections,
  '150-job-owners': jobOwners,
  '151-heartbeats': heartbeats,
  '152-registered-nodes': registeredNodes,
  '153-deviceless-agents': devicelessAgents,
  '154-softphone-origins': softphoneOrigins,
  '155-softphone-devices': softphoneDevices,
  '160-connection-networks': connectionNetworks,
  '161-pin-tries': pinTries,
  '170-revoked-invitations': revokedInvitations,
  '171-call-keys': callKeys,
  '172-queue-visits': queueVisits,
  '173-event-objects': eventObjects,
  '174-billing': billing,
  '184-softphone-metadata': softphoneMetadata,
}
