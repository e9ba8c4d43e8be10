import '../event-catalog.ts'
import { callProgramRoutes } from '../../assistants/program-routes.ts'
import { voicemailRoutes } from '../../assistants/voicemail-routes.ts'
import { routesLeadingTo } from '../../browsers/route-uses.ts'
import { recordingControlRoutes } from '../../calls/capture/recording-control.ts'
import { RecordingForms } from '../../calls/capture/recording-forms.ts'
import { recordingRoutes } from '../../calls/capture/recording-routes.ts'
import { streamRoutes } from '../../calls/capture/stream-routes.ts'
import { transcriptControlRoutes } from '../../calls/capture/transcript-control.ts'
import { atItsNode } from '../../calls/conductor/other-node.ts'
import { pciRoutes } from '../../calls/pci-routes.ts'
import { callRoutes } from '../../calls/routes.ts'
import { callSpeechRoutes } from '../../calls/speech-routes.ts'
import { traceRoutes } from '../../calls/tracing/trace-routes.ts'
import { streamsProblem } from '../../capture-settings/streams-problem.ts'
import { nounRoutes } from '../../http/noun.ts'
import { existsIn } from '../../http/references.ts'
import type { Route } from '../../http/route.ts'
import { resolveHost } from '../../http/url-policy.ts'
import type { LiveParts } from '../../http/wire/live-answer.ts'
import { OpenStreams } from '../../http/wire/open-streams.ts'
import type { RequestLog } from '../../http/wire/request-log.ts'
import { publicUrlOf, sipHostOf } from '../../kernel/addresses.ts'
import { Turns } from '../../kernel/turns.ts'
import { modelRoutes, OfferedModels } from '../../models/offered.ts'
import { apiKeyRoutes } from '../../organisation/api-key-routes.ts'
import { languageRoutes } from '../../organisation/language-routes.ts'
import { requestLogRoutes } from '../../organisation/request-log-routes.ts'
import { organisationRoutes, pciSettings } from '../../organisation/routes.ts'
import { usageRoutes } from '../../organisation/usage-routes.ts'
import { partnerKeyRoutes } from '../../partners/key-routes.ts'
import { partnerRoutes } from '../../partners/routes.ts'
import { partnerUsageRoutes } from '../../partners/usage-routes.ts'
import { evaluationRoutes } from '../../quality/evaluation/routes.ts'
import { insightRoutes } from '../../quality/insights/routes.ts'
import { transcriptSearchRoute } from '../../quality/search/routes.ts'
import { callSummaryRoutes } from '../../quality/summary/routes.ts'
import { callHandlingRoutes } from '../../queues/handling-routes.ts'
import { keptDataRoutes } from '../../retention/routes.ts'
import { roomHistoryRoutes } from '../../rooms/history-routes.ts'
import { roomParticipantRoutes } from '../../rooms/participant-routes.ts'
import { conferenceRoomRoutes } from '../../rooms/routes.ts'
import { toolsTransferringTo } from '../../tools/store.ts'
import { connectionRoutes } from '../../trunks/connection-routes.ts'
import { inboundRouteRoutes } from '../../trunks/inbound-routes.ts'
import { phoneNumberRoutes } from '../../trunks/number-routes.ts'
import { usageEntryRoutes } from '../../usage/entry-routes.ts'
import { OfferedVoices } from '../../voices/offered.ts'
import { voiceRoutes } from '../../voices/routes.ts'
import { webhookDeliveryRoutes } from '../../webhooks/delivery-routes.ts'
import { webhookEndpointRoutes } from '../../webhooks/endpoints/routes.ts'
import { eventRoutes } from '../../webhooks/event-routes.ts'
import { liveEventRoute } from '../../webhooks/live-events.ts'
import { buildCallCentre } from '../background.ts'
import { type AppParts, clockOf, loopbackOf, streamDeps, usersOf } from '../parts.ts'
import { testHelperRoutes } from '../test-helpers.ts'
import { modelsOf } from '../wire-programs.ts'
import { contactCentre } from './contact-centre.ts'
import { content, copilot, flows, tools } from './content.ts'

/** Every operation of the API, in the order of its documentation. */
export function routes(
  parts: AppParts,
  requestLog: Pick<RequestLog, 'flush'>,
  live: LiveParts = { streams: new OpenStreams(parts.store, parts.now) },
): Route[] {
  const { store, media, config, vault, now, centre = buildCallCentre(parts) } = parts
  const sipHost = sipHostOf(config)
  const publicUrl = publicUrlOf(config)
  const allowedNetworks = config.allowPrivateUrls
  const dial = {
    store,
    vault,
    media,
    now,
    sipHost,
    allowedNetworks,
    loopback: loopbackOf(config),
    streams: streamDeps(config),
    changes: new Turns(),
  }
  const streams = { ...streamDeps(config), store, media, now, resolve: resolveHost, stops: dial.changes }
  const fits = streamsProblem(streams)
  return atItsNode(store, [
    ...callRoutes({ ...dial, streamsProblem: fits, running: parts.running ?? NO_CALLS }),
    ...callHandlingRoutes({ store, media, centre }),
    ...streamRoutes(streams),
    ...pciRoutes({ store, media, pciOf: pciSettings }),
    ...recordingRoutes({ store, dataDir: config.dataDir, forms: new RecordingForms(config.dataDir) }),
    ...recordingControlRoutes({ store, media, now }),
    ...transcriptControlRoutes({ store, media, now }),
    ...keptDataRoutes({ store, now, dataDir: config.dataDir }),
    ...callProgramRoutes({ store, vault }),
    ...callSummaryRoutes({ store, now, userExists: existsIn('users'), models: modelsOf(config) }),
    ...evaluationRoutes({ store, now, userExists: existsIn('users'), models: modelsOf(config) }),
    transcriptSearchRoute({ store }),
    ...insightRoutes({ store, now, timezoneOf: clockOf }),
    ...traceRoutes({ store, media, now }),
    ...voiceRoutes({ voices: new OfferedVoices(config), media }),
    ...callSpeechRoutes({ store, media, dataDir: config.dataDir, voices: new OfferedVoices(config) }),
    ...voicemailRoutes({ store, dataDir: config.dataDir }),
    ...conferenceRoomRoutes({
      store,
      now,
      publicUrl,
      userExists: existsIn('users'),
      usesOf: usersOf(routesLeadingTo, toolsTransferringTo),
    }),
    ...roomHistoryRoutes({ store, now }),
    ...roomParticipantRoutes(dial),
    ...inboundRouteRoutes({ store, now, streamsProblem: fits }),
    ...phoneNumberRoutes({ store, now }),
    ...connectionRoutes({
      store,
      vault,
      now,
      allowedNetworks,
      stir: { signs: config.stirKey != null, verifies: config.stirAnchors != null },
    }),
    ...copilot(parts, live),
    ...contactCentre({ store, vault, now, config, live, fits }, publicUrl),
    ...content({ store, now, config }),
    ...flows({ store, now, config, live, fits }, publicUrl),
    ...tools({ store, vault, now, config }),
    ...eventRoutes({ store }),
    liveEventRoute({ store, live }),
    ...webhookEndpointRoutes({ store, vault, now, resolve: resolveHost, allowedNetworks }),
    ...webhookDeliveryRoutes({ store, now }),
    ...testHelperRoutes({ now }),
    ...organisationRoutes({ store, now, streamsProblem: fits }),
    ...usageRoutes({ store, now }),
    ...usageEntryRoutes({ store }),
    ...languageRoutes({ config }),
    ...modelRoutes(new OfferedModels(config)),
    ...requestLogRoutes({ store, written: () => requestLog.flush() }),
    ...apiKeyRoutes({ store, now }),
    ...partnerRoutes({ store, now }),
    ...partnerKeyRoutes({ store, now }),
    ...partnerUsageRoutes({ store, now }),
    ...nounRoutes({ store, now }),
  ])
}

const NO_CALLS = { find: () => undefined }
