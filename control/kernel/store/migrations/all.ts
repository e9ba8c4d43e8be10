import type { Migration } from 'kysely'
import { frame } from './001-099/001-frame.ts'
import { calls } from './001-099/002-calls.ts'
import { flows } from './001-099/020-flows.ts'
import { webhooks } from './001-099/021-webhooks.ts'
import { contactCentre } from './001-099/022-contact-centre.ts'
import { content } from './001-099/023-content.ts'
import { jobs } from './001-099/030-jobs.ts'
import { nodes } from './001-099/031-nodes.ts'
import { reportsAndMail } from './001-099/040-reports-and-mail.ts'
import { requestLogs } from './001-099/050-request-logs.ts'
import { usage } from './001-099/051-usage.ts'
import { routeHours } from './001-099/052-route-hours.ts'
import { browsers } from './001-099/060-browsers.ts'
import { sipAccounts } from './001-099/061-sip-accounts.ts'
import { programs } from './001-099/070-programs.ts'
import { transcripts } from './001-099/071-transcripts.ts'
import { queues } from './001-099/080-queues.ts'
import { sessions } from './001-099/081-sessions.ts'
import { doNotCall } from './001-099/090-do-not-call.ts'
import { runningAudio } from './001-099/092-running-audio.ts'
import { connections } from './001-099/094-connections.ts'
import { ledRings } from './001-099/095-led-rings.ts'
import { connectionSrtp } from './100-149/100-connection-srtp.ts'
import { reportArtifacts } from './100-149/103-report-artifacts.ts'
import { capturePauses } from './100-149/107-capture-pauses.ts'
import { inboundLookups } from './100-149/108-inbound-lookups.ts'
import { transcriptFailures } from './100-149/108-transcript-failures.ts'
import { dueCallbacks } from './100-149/109-due-callbacks.ts'
import { paymentRings } from './100-149/110-payment-rings.ts'
import { transcriptSpeakers } from './100-149/130-transcript-speakers.ts'
import { captureSettings } from './100-149/131-capture-settings.ts'
import { keptData } from './100-149/132-kept-data.ts'
import { legConnections } from './100-149/140-leg-connections.ts'
import { jobOwners } from './150-199/150-job-owners.ts'
import { heartbeats } from './150-199/151-heartbeats.ts'
import { registeredNodes } from './150-199/152-registered-nodes.ts'
import { devicelessAgents } from './150-199/153-deviceless-agents.ts'
import { softphoneOrigins } from './150-199/154-softphone-origins.ts'
import { softphoneDevices } from './150-199/155-softphone-devices.ts'
import { connectionNetworks } from './150-199/160-connection-networks.ts'
import { pinTries } from './150-199/161-pin-tries.ts'
import { revokedInvitations } from './150-199/170-revoked-invitations.ts'
import { callKeys } from './150-199/171-call-keys.ts'
import { queueVisits } from './150-199/172-queue-visits.ts'
import { eventObjects } from './150-199/173-event-objects.ts'
import { billing } from './150-199/174-billing.ts'
import { softphoneMetadata } from './150-199/184-softphone-metadata.ts'
import { steadyWaits } from './150-199/190-steady-waits.ts'
import { lostDevices } from './150-199/191-lost-devices.ts'
import { steadySessions } from './150-199/192-steady-sessions.ts'
import { missedCallbacks } from './150-199/193-missed-callbacks.ts'
import { copilotSessions } from './200-249/200-copilot-sessions.ts'
import { copilotTokens } from './200-249/201-copilot-tokens.ts'
import { redaction } from './200-249/220-redaction.ts'
import { quality } from './200-249/221-quality.ts'
import { qaList } from './200-249/240-qa-list.ts'
import { summaryList } from './200-249/241-summary-list.ts'
import { heldNumbers } from './200-249/242-held-numbers.ts'
import { modelUsage } from './200-249/243-model-usage.ts'
import { countedCalls } from './200-249/244-counted-calls.ts'
import { outboundRouting } from './250-299/250-outbound-routing.ts'
import { earlyMedia } from './250-299/251-early-media.ts'
import { inboundCredentials } from './250-299/254-inbound-credentials.ts'
import { legCauses } from './250-299/255-leg-causes.ts'
import { callStarts } from './250-299/256-call-starts.ts'
import { callerIdentity } from './250-299/257-caller-identity.ts'
import { signedCalls } from './250-299/258-signed-calls.ts'
import { transfers } from './250-299/260-transfers.ts'
import { messages } from './250-299/263-messages.ts'
import { sipTraces } from './250-299/269-sip-traces.ts'
import { registeredPaths } from './250-299/270-registered-paths.ts'
import { insightDays } from './250-299/272-insight-days.ts'
import { participantAudio } from './250-299/276-participant-audio.ts'
import { bidirectionalStreams } from './250-299/279-bidirectional-streams.ts'
import { doNotCallSources } from './300-349/300-do-not-call-sources.ts'
import { consents } from './300-349/301-consents.ts'
import { imports } from './300-349/302-imports.ts'
import { campaigns } from './300-349/310-campaigns.ts'
import { tools } from './300-349/320-tools.ts'
import { sites } from './300-349/330-sites.ts'
import { webCalls } from './300-349/331-web-calls.ts'
import { paymentNumbers } from './300-349/332-payment-numbers.ts'
import { usageEntries } from './300-349/340-usage-entries.ts'
import { partnerOrganisations } from './300-349/341-partner-organisations.ts'
import { eventOrder } from './350-399/350-event-order.ts'
import { answering } from './350-399/360-answering.ts'
import { campaignAnswers } from './350-399/370-campaign-answers.ts'
import { campaignClaims } from './350-399/371-campaign-claims.ts'
import { dialling } from './350-399/380-dialling.ts'
import { requestBudgets } from './350-399/385-request-budgets.ts'
import { limitsReached } from './350-399/386-limits-reached.ts'
import { attemptsForgotten } from './350-399/387-attempts-forgotten.ts'
import { jobNodes } from './350-399/388-job-nodes.ts'
import { reservedAgents } from './350-399/389-reserved-agents.ts'
import { captureChanges } from './350-399/392-capture-changes.ts'
import { evaluationsByState } from './400-449/402-evaluations-by-state.ts'
import { sessionTokens } from './400-449/403-session-tokens.ts'
import { openStreams } from './400-449/404-open-streams.ts'
import { digestUses } from './400-449/405-digest-uses.ts'
import { serviceRoutes } from './400-449/406-service-routes.ts'
import { ofCalls } from './400-449/407-of-calls.ts'
import { fewerEntries } from './400-449/408-fewer-entries.ts'
import { steadyCopilots } from './400-449/409-steady-copilots.ts'
import { steadyAgents } from './400-449/410-steady-agents.ts'
import { numberedFlows } from './400-449/411-numbered-flows.ts'
import { letIn } from './400-449/412-let-in.ts'
import { phonesHold } from './400-449/413-phones-hold.ts'
import { wordsDeleted } from './400-449/414-words-deleted.ts'
import { farEndsHold } from './400-449/415-far-ends-hold.ts'
import { olderNodes } from './400-449/416-older-nodes.ts'

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
  '190-steady-waits': steadyWaits,
  '191-lost-devices': lostDevices,
  '192-steady-sessions': steadySessions,
  '193-missed-callbacks': missedCallbacks,
  '200-copilot-sessions': copilotSessions,
  '201-copilot-tokens': copilotTokens,
  '220-redaction': redaction,
  '221-quality': quality,
  '240-qa-list': qaList,
  '241-summary-list': summaryList,
  '242-held-numbers': heldNumbers,
  '243-model-usage': modelUsage,
  '244-counted-calls': countedCalls,
  '250-outbound-routing': outboundRouting,
  '251-early-media': earlyMedia,
  '254-inbound-credentials': inboundCredentials,
  '255-leg-causes': legCauses,
  '256-call-starts': callStarts,
  '257-caller-identity': callerIdentity,
  '258-signed-calls': signedCalls,
  '260-transfers': transfers,
  '263-messages': messages,
  '269-sip-traces': sipTraces,
  '270-registered-paths': registeredPaths,
  '272-insight-days': insightDays,
  '276-participant-audio': participantAudio,
  '279-bidirectional-streams': bidirectionalStreams,
  '300-do-not-call-sources': doNotCallSources,
  '301-consents': consents,
  '302-imports': imports,
  '310-campaigns': campaigns,
  '320-tools': tools,
  '330-sites': sites,
  '331-web-calls': webCalls,
  '332-payment-numbers': paymentNumbers,
  '340-usage-entries': usageEntries,
  '341-partner-organisations': partnerOrganisations,
  '350-event-order': eventOrder,
  '360-answering': answering,
  '370-campaign-answers': campaignAnswers,
  '371-campaign-claims': campaignClaims,
  '380-dialling': dialling,
  '385-request-budgets': requestBudgets,
  '386-limits-reached': limitsReached,
  '387-attempts-forgotten': attemptsForgotten,
  '388-job-nodes': jobNodes,
  '389-reserved-agents': reservedAgents,
  '392-capture-changes': captureChanges,
  '402-evaluations-by-state': evaluationsByState,
  '403-session-tokens': sessionTokens,
  '404-open-streams': openStreams,
  '405-digest-uses': digestUses,
  '406-service-routes': serviceRoutes,
  '407-of-calls': ofCalls,
  '408-fewer-entries': fewerEntries,
  '409-steady-copilots': steadyCopilots,
  '410-steady-agents': steadyAgents,
  '411-numbered-flows': numberedFlows,
  '412-let-in': letIn,
  '413-phones-hold': phonesHold,
  '414-words-deleted': wordsDeleted,
  '415-far-ends-hold': farEndsHold,
  '416-older-nodes': olderNodes,
}
