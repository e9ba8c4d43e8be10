import './event-catalog.ts'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { lookUp } from '../assistants/assistant/built-in-tools.ts'
import { flowModels } from '../assistants/assistant/node-reply.ts'
import { passageFinder } from '../assistants/assistant/passage-finder.ts'
import { handOverProblem } from '../assistants/hand-overs.ts'
import type { LostNodeParts } from '../assistants/lost-nodes.ts'
import { endLostPrograms } from '../assistants/lost-programs.ts'
import { callProgramRoutes } from '../assistants/program-routes.ts'
import { assistantRoutes } from '../assistants/routes.ts'
import { assistantsWithTool } from '../assistants/tool-users.ts'
import { voicemailRoutes } from '../assistants/voicemail-routes.ts'
import { audioConverter } from '../audio/convert.ts'
import { audioPath, sweepAudio } from '../audio/files.ts'
import { audioAssetRoutes } from '../audio/routes.ts'
import { Devices } from '../browsers/devices.ts'
import { servePages } from '../browsers/pages.ts'
import { routesLeadingTo } from '../browsers/route-uses.ts'
import { clientTokenRoutes } from '../browsers/token-routes.ts'
import { webCallRoutes } from '../browsers/web-call-routes.ts'
import { callbackRoutes } from '../callbacks/routes.ts'
import { callbacksUsing, expireCallbacks, tellMissed } from '../callbacks/store.ts'
import { summaryHandler } from '../callbacks/summary.ts'
import { onCallTold } from '../callbacks/want-summary.ts'
import { onConsent } from '../calls/capture/consent-changed.ts'
import { recordingControlRoutes } from '../calls/capture/recording-control.ts'
import { sweepRecordings } from '../calls/capture/recording-files.ts'
import { RecordingForms } from '../calls/capture/recording-forms.ts'
import { recordingRoutes } from '../calls/capture/recording-routes.ts'
import { streamRoutes } from '../calls/capture/stream-routes.ts'
import type { StreamDeps } from '../calls/capture/streams.ts'
import { transcriptControlRoutes } from '../calls/capture/transcript-control.ts'
import { CallDriver, type CallPrograms } from '../calls/conductor/driver.ts'
import { endAll } from '../calls/conductor/end-all.ts'
import { atItsNode } from '../calls/conductor/other-node.ts'
import type { RunningCalls } from '../calls/conductor/running-calls.ts'
import { pciRoutes } from '../calls/pci-routes.ts'
import { callRoutes } from '../calls/routes.ts'
import { callSpeechRoutes } from '../calls/speech-routes.ts'
import { traceRoutes } from '../calls/tracing/trace-routes.ts'
import { campaignContactRoutes } from '../campaigns/contact-routes.ts'
import { Dialler } from '../campaigns/dialler.ts'
import { onCampaignCall } from '../campaigns/follow-calls.ts'
import { campaignPreviewRoutes } from '../campaigns/preview/routes.ts'
import { campaignResultRoutes } from '../campaigns/result-routes.ts'
import { campaignRoutes } from '../campaigns/routes.ts'
import { campaignsUsing } from '../campaigns/store.ts'
import { type StreamsProblem, streamsProblem } from '../capture-settings/streams-problem.ts'
import { consentRoutes } from '../consents/routes.ts'
import type { ModelParts } from '../copilot/deep/answer.ts'
import { copilotProfileRoutes } from '../copilot/routes.ts'
import type { Copilot } from '../copilot/sessions/copilot.ts'
import { Feed } from '../copilot/sessions/feed.ts'
import { copilotSessionRoutes } from '../copilot/sessions/routes.ts'
import { onSpokenRefusal } from '../do-not-call/by-word.ts'
import { sweepListed } from '../do-not-call/list.ts'
import { doNotCallRoutes } from '../do-not-call/routes.ts'
import { flowRoutes } from '../flows/routes.ts'
import { knownTargets } from '../flows/targets.ts'
import {
  agentScript,
  assistantsLedBy,
  assistantsOf,
  callerFlow,
  hasVersion,
  knownAssets,
  profilesScriptedBy,
} from '../flows/users.ts'
import { flowsUsing } from '../flows/uses.ts'
import { ATTEMPT_LEASE_MS, renewAttempts } from '../http/idempotency.ts'
import { nounRoutes } from '../http/noun.ts'
import { serveDocs } from '../http/pages/routes.ts'
import { DEFAULT_RATE, mountOperations } from '../http/pipeline.ts'
import { existsIn, type UsesOf } from '../http/references.ts'
import type { Route } from '../http/route.ts'
import { createServer } from '../http/server.ts'
import { resolveHost, serverUrlProblem } from '../http/url-policy.ts'
import { queueSunsetMails } from '../http/versions/sunset-mails.ts'
import type { LiveParts } from '../http/wire/live-answer.ts'
import { forgetStreams, OpenStreams, sweepStreams } from '../http/wire/open-streams.ts'
import { RequestLog } from '../http/wire/request-log.ts'
import { measureRequests } from '../http/wire/request-metrics.ts'
import { sweepBudgets } from '../http/wire/shared-rates.ts'
import { sweepImports } from '../imports/pieces.ts'
import { importRoutes } from '../imports/routes.ts'
import { importHandler } from '../imports/run-job.ts'
import { publicUrlOf, reachableHost, sipAddressOf, sipHostOf, urlHost, wsUrlOf } from '../kernel/addresses.ts'
import type { Config } from '../kernel/config/config.ts'
import { JobRunner } from '../kernel/jobs/runner.ts'
import { mailHandler } from '../kernel/mail/job.ts'
import { type SendMail, smtpMailer } from '../kernel/mail/mail.ts'
import { Beats } from '../kernel/nodes/heartbeat.ts'
import { VERSION } from '../kernel/package.ts'
import { Periodic } from '../kernel/periodic.ts'
import { storeCounters } from '../kernel/store/shortcut.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { kbDocumentRoutes } from '../knowledge/document-routes.ts'
import { forgetDocument } from '../knowledge/document-users.ts'
import { passageSearch } from '../knowledge/passage-search.ts'
import { kbSearchRoutes } from '../knowledge/search-routes.ts'
import type { MediaPort } from '../media-link/events.ts'
import { messageRoutes } from '../messages/routes.ts'
import { modelRoutes, OfferedModels } from '../models/offered.ts'
import { writers } from '../models/writer.ts'
import { apiKeyRoutes } from '../organisation/api-key-routes.ts'
import { serveInvitations } from '../organisation/invitation-pages.ts'
import { invitationRoutes } from '../organisation/invitation-routes.ts'
import { languageRoutes } from '../organisation/language-routes.ts'
import { requestLogRoutes } from '../organisation/request-log-routes.ts'
import { organisationRoutes, organisationSettings, pciSettings } from '../organisation/routes.ts'
import { teamRoutes } from '../organisation/team-routes.ts'
import { usageRoutes } from '../organisation/usage-routes.ts'
import { leaveTeam, memberCounts, userRoutes } from '../organisation/user-routes.ts'
import { partnerKeyRoutes } from '../partners/key-routes.ts'
import { partnerRoutes } from '../partners/routes.ts'
import { partnerUsageRoutes } from '../partners/usage-routes.ts'
import { judgeHandler } from '../quality/evaluation/judge-job.ts'
import { evaluationRoutes } from '../quality/evaluation/routes.ts'
import { InsightDays } from '../quality/insights/build-days.ts'
import { insightRoutes } from '../quality/insights/routes.ts'
import { reviewHandler } from '../quality/review-job.ts'
import { transcriptSearchRoute } from '../quality/search/routes.ts'
import { callSummaryRoutes } from '../quality/summary/routes.ts'
import { onCallOver } from '../quality/want-review.ts'
import { agentRoutes, signOut } from '../queues/agent-routes.ts'
import { sipCredentialRoutes } from '../queues/agents/credential-routes.ts'
import { devicesOf } from '../queues/agents/devices.ts'
import { PhoneSubscriptions } from '../queues/agents/subscriptions.ts'
import { CallCentre } from '../queues/call-centre.ts'
import type { CallCentreParts } from '../queues/deps.ts'
import { callHandlingRoutes } from '../queues/handling-routes.ts'
import { followDevices } from '../queues/presence.ts'
import { queueRoutes } from '../queues/settings/routes.ts'
import { queueStatsRoutes } from '../queues/settings/stats.ts'
import { queuesUsing, removeTeam } from '../queues/settings/store.ts'
import { reportRoutes } from '../reports/routes.ts'
import { reportRunHandler } from '../reports/run-job.ts'
import { startScheduledRuns } from '../reports/schedule.ts'
import { sweepReports } from '../reports/sweep.ts'
import type { RetentionDuty } from '../retention/duty.ts'
import { keptDataRoutes } from '../retention/routes.ts'
import { roomHistoryRoutes } from '../rooms/history-routes.ts'
import { roomParticipantRoutes } from '../rooms/participant-routes.ts'
import { conferenceRoomRoutes } from '../rooms/routes.ts'
import { notesHandler, onTranscriptTold } from '../rooms/session-notes.ts'
import { secretRoutes } from '../secrets/routes.ts'
import { secretReader } from '../secrets/values.ts'
import { serveForms } from '../sites/form.ts'
import { siteRoutes } from '../sites/routes.ts'
import { sitesUsing } from '../sites/uses.ts'
import { toolRoutes } from '../tools/routes.ts'
import { secretUsers, toolsTransferringTo } from '../tools/store.ts'
import { connectionRoutes } from '../trunks/connection-routes.ts'
import { inboundRouteRoutes } from '../trunks/inbound-routes.ts'
import { ConnectionKeeper } from '../trunks/keeper.ts'
import { phoneNumberRoutes } from '../trunks/number-routes.ts'
import { usageEntryRoutes } from '../usage/entry-routes.ts'
import { OfferedVoices } from '../voices/offered.ts'
import { voiceRoutes } from '../voices/routes.ts'
import { webhookDeliveryRoutes } from '../webhooks/delivery-routes.ts'
import { WebhookDispatcher } from '../webhooks/dispatcher.ts'
import { webhookEndpointRoutes } from '../webhooks/endpoints/routes.ts'
import { eventRoutes } from '../webhooks/event-routes.ts'
import { httpPost } from '../webhooks/http-post.ts'
import { liveEventRoute } from '../webhooks/live-events.ts'
import { type Counters, type MediaHealth, serveHealth } from './health.ts'
import { IMPORT_TARGETS } from './import-targets.ts'
import { testHelperRoutes } from './test-helpers.ts'
import { askingBy, modelsOf } from './wire-programs.ts'

/** How late what has a time may come. */
const SHORT_DUTY_MS = 30_000
const LONG_DUTY_MS = 60 * 60 * 1000

export type AppConfig = Pick<
  Config,
  'allowPrivateUrls' | 'dataDir' | 'httpHost' | 'httpPort' | 'publicIps' | 'sipHosts'
> &
  Partial<
    Pick<
      Config,
      | 'modelKey'
      | 'modelName'
      | 'modelNames'
      | 'modelPrices'
      | 'modelUrl'
      | 'publicUrl'
      | 'sipPort'
      | 'smtpUrl'
      | 'speechPreload'
      | 'stirAnchors'
      | 'stirKey'
      | 'sttModel'
      | 'sttUrl'
      | 'trustedProxies'
      | 'ttsModel'
      | 'ttsUrl'
      | 'ttsVoice'
      | 'ttsVoices'
      | 'wsPort'
    >
  >

export interface AppParts {
  store: Store
  media: MediaPort & MediaHealth
  config: AppConfig
  vault: Vault
  now: () => Date
  log: Logger
  rate?: { burst: number; perSecond: number }
  /** What the parts beside the app have counted, for `/metrics`. */
  counters?: () => Counters
  /** The one that the driver has too; absent: one of its own, for tests without calls. */
  centre?: CallCentre
  /** What listens beside agents; absent: sessions are there, and nobody hears what is said. */
  copilot?: Pick<Copilot, 'feed' | 'starting'>
  /** The models that answer agents; absent: of its own. */
  asking?: ModelParts
  /** Calls that can be ended while the store is away; absent: none. */
  running?: Pick<RunningCalls, 'find'>
}

/** Builds and wires the whole HTTP side; listens to nothing, so that tests inject requests. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { store, media, now, log, rate = DEFAULT_RATE } = parts
  const app = await createServer({ log, version: VERSION, trustedProxies: parts.config.trustedProxies ?? [] })
  const registry = measureRequests(app)
  const requestLog = new RequestLog({ store, now, log })
  await forgetStreams(store.db)
  const live = { streams: new OpenStreams(store, now, log) }
  // Those that end by themselves only would keep the server from closing.
  app.addHook('preClose', async () => live.streams.close())
  await mountOperations(app, routes(parts, requestLog, live), { store, now, log, rate, requestLog })
  app.addHook('onClose', () => requestLog.flush())
  const counters = (): Counters => ({
    ...parts.counters?.(),
    request_logs: requestLog.counters,
    store: storeCounters(store.db),
  })
  serveHealth(app, { store, media, registry, now, counters, speechPreload: parts.config.speechPreload ?? true })
  serveDocs(app, now)
  serveInvitations(app, { store, now })
  servePages(app, {
    store,
    vault: parts.vault,
    now,
    wsUrl: wsUrlOf(parts.config),
    trustedProxies: parts.config.trustedProxies ?? [],
  })
  serveForms(app, {
    store,
    vault: parts.vault,
    now,
    settings: organisationSettings,
    trustedProxies: parts.config.trustedProxies ?? [],
  })
  await app.ready()
  return app
}

/** Queues, agents and callbacks; `run` is to be called now and then, for what becomes due by the clock alone. */
export function buildCallCentre(
  { store, vault, now, log, config }: Pick<AppParts, 'store' | 'vault' | 'config' | 'now' | 'log'>,
  led: Pick<CallCentreParts, 'handOver' | 'led'> = { handOver: async () => false },
): CallCentre {
  store.within
    .add(onCallTold)
    .add(onTranscriptTold)
    .add(onCallOver)
    .add(onCampaignCall({ devicesOf }))
    .add(onSpokenRefusal)
    .add(onConsent)
  return new CallCentre({
    store,
    vault,
    now,
    log,
    sipHost: sipHostOf(config),
    loopback: loopbackOf(config),
    devicesOf,
    followDevices,
    streams: streamDeps(config),
    businessHoursOf: async (db, tenant) => (await organisationSettings(db, tenant)).businessHours,
    booking: { now, settings: organisationSettings },
    assetFile: id => audioPath(config.dataDir, id),
    ...led,
  })
}

/** What has media register at far ends and ask whether they are there; `run` is to be called now and then. */
export function buildKeeper({
  store,
  vault,
  now,
  log,
  config,
}: Pick<AppParts, 'store' | 'vault' | 'config' | 'now' | 'log'>) {
  return new ConnectionKeeper({ store, vault, now, log, sipHost: sipHostOf(config) })
}

/** What turns media's events into rows, events and commands. */
export function buildDriver(
  parts: Pick<AppParts, 'store' | 'config' | 'vault' | 'now' | 'log' | 'centre'> & {
    programs?: CallPrograms
    keeper?: ConnectionKeeper
    feed?: Feed
    asking?: ModelParts
    subscriptions?: PhoneSubscriptions
  },
): CallDriver {
  const {
    store,
    vault,
    now,
    log,
    config,
    centre = buildCallCentre(parts),
    programs,
    keeper,
    feed = new Feed(),
    asking = askingBy(parts),
    subscriptions = new PhoneSubscriptions(store),
  } = parts
  const devices = new Devices({
    ...{ store, vault, now, log, centre, feed, subscriptions },
    ...asking,
    search: passageSearch(store.engine),
    booking: { now, settings: organisationSettings },
    sipHost: sipHostOf(config),
    publicUrl: publicUrlOf(config),
    timezoneOf: clockOf,
    devicesOf,
  })
  const led = { ...(programs === undefined ? {} : { programs }), ...(keeper === undefined ? {} : { keeper }) }
  const assetFile = (id: string) => audioPath(config.dataDir, id)
  return new CallDriver({ store, vault, now, log, streams: streamDeps(config), assetFile, devices, centre, ...led })
}

/** What delivers events to webhook endpoints; to be started, and closed before the store. */
export function buildDispatcher(
  parts: Pick<AppParts, 'store' | 'config' | 'vault' | 'now' | 'log'>,
): WebhookDispatcher {
  const { store, vault, now, log, config } = parts
  const allowedNetworks = config.allowPrivateUrls
  const random = Math.random
  return new WebhookDispatcher({
    store,
    vault,
    now,
    log,
    allowedNetworks,
    random,
    post: httpPost,
  })
}

/** What runs jobs of the database; to be started, and closed before the store. */
export function buildJobs(parts: Omit<AppParts, 'media'>): JobRunner {
  const { store, config, vault, now, log } = parts
  const { models, meter } = parts.asking ?? askingBy(parts)
  const sendMail = mailerOf(config)
  return new JobRunner({
    store,
    now,
    log,
    handlers: {
      'callback.summary': summaryHandler({ store, now, writerFor: writers(modelsOf(config)) }),
      'conference.notes': notesHandler({
        store,
        now,
        log,
        writerFor: writers(modelsOf(config)),
      }),
      'call.review': reviewHandler({ store, now, models, meter }),
      'call.judge': judgeHandler({ store, now, models, meter }),
      'report.run': reportRunHandler({ store, now, sendMail }),
      'import.run': importHandler({ store, now, targets: IMPORT_TARGETS }),
      // Without a mail server they wait for one.
      ...(sendMail === null ? {} : { mail: mailHandler({ vault, sendMail, log }) }),
    },
  })
}

/** What comes again and again by itself; to be started, and closed before the store. */
export function buildDuties(
  { store, config, vault, now, log }: Omit<AppParts, 'media'>,
  retention: Pick<RetentionDuty, 'run'>,
): Periodic[] {
  const { dataDir } = config
  const duty = (name: string, everyMs: number, run: () => Promise<unknown>) =>
    new Periodic({ name, everyMs, firstMs: Math.min(everyMs, SHORT_DUTY_MS), run, log })
  const sunset = { store, vault, now, log, publicUrl: publicUrlOf(config) }
  const insightDays = new InsightDays({ store, now, timezoneOf: clockOf })
  return [
    duty('idempotency leases', ATTEMPT_LEASE_MS / 4, () => renewAttempts(store, now())),
    duty('callback expiry', SHORT_DUTY_MS, () => expireCallbacks(store, now())),
    duty('do-not-call list', SHORT_DUTY_MS, () => sweepListed(store, now())),
    duty('missed callbacks', SHORT_DUTY_MS, () => tellMissed(store, now())),
    duty('report schedules', SHORT_DUTY_MS, () => startScheduledRuns(store, now())),
    duty('insight days', SHORT_DUTY_MS, () => insightDays.run()),
    duty('request budgets', LONG_DUTY_MS, () => sweepBudgets(store.db, now())),
    duty('open streams', LONG_DUTY_MS, () => sweepStreams(store.db, now())),
    duty('import files', LONG_DUTY_MS, () => sweepImports(store.db, now())),
    duty('report files', LONG_DUTY_MS, () => sweepReports({ store, now })),
    duty('retention', LONG_DUTY_MS, () => retention.run()),
    duty('recording files', LONG_DUTY_MS, () => sweepRecordings(store.db, dataDir, now())),
    duty('audio files', LONG_DUTY_MS, () => sweepAudio(store.db, dataDir, now())),
    ...(mailerOf(config) === null ? [] : [duty('sunset mails', LONG_DUTY_MS, () => queueSunsetMails(sunset))]),
  ]
}

const clockOf = async (db: Db, tenant: Tenant): Promise<string> => (await organisationSettings(db, tenant)).timezone

/** What places the calls of campaigns; `run` is to be called again and again while media is there. */
export const buildDialler = ({ store, now, log }: Pick<AppParts, 'store' | 'now' | 'log'>): Dialler =>
  new Dialler({ store, now, log, devicesOf, timezoneOf: clockOf })

const countryOf = async (db: Db, tenant: Tenant): Promise<string | null> =>
  (await organisationSettings(db, tenant)).country

/** What ends the calls of nodes that are lost; `centre`: who frees their agents. */
export const lostNodes = (
  { store, vault, now, log }: Pick<AppParts, 'store' | 'vault' | 'now' | 'log'>,
  centre: CallCentre,
): LostNodeParts => ({
  store,
  now,
  log,
  beats: new Beats(),
  endAll: async (db, at, step) => {
    await endAll(db, centre, { reason: 'node_lost', at }, step)
    await endLostPrograms(vault, db, at, run => step(null, run))
  },
  guard: (legId, at, run) => centre.faults.endingAt(at).guard(legId, null, run),
})

/** Where our own SIP is reached from this machine. */
const loopbackOf = ({ sipHosts, sipPort }: AppParts['config']): { host: string; port: number } => ({
  host: urlHost(reachableHost(sipHosts[0]!)),
  port: sipPort ?? 5060,
})

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
  }
  const streams = { ...streamDeps(config), store, media, now, resolve: resolveHost }
  const fits = streamsProblem(streams)
  return atItsNode(store, [
    ...callRoutes({
      ...dial,
      streamsProblem: fits,
      running: parts.running ?? NO_CALLS,
    }),
    ...callHandlingRoutes({
      store,
      media,
      centre,
      exists: {
        user: existsIn('users'),
        queue: existsIn('queues'),
        assistant: existsIn('assistants'),
        flow: callerFlow,
        room: existsIn('conference_rooms'),
      },
    }),
    ...streamRoutes(streams),
    ...pciRoutes({
      store,
      media,
      pciOf: pciSettings,
    }),
    ...recordingRoutes({ store, dataDir: config.dataDir, forms: new RecordingForms(config.dataDir) }),
    ...recordingControlRoutes({ store, media, now }),
    ...transcriptControlRoutes({ store, media, now }),
    ...keptDataRoutes({ store, now, dataDir: config.dataDir }),
    ...callProgramRoutes({ store, vault }),
    ...callSummaryRoutes({ store, now, userExists: existsIn('users'), models: modelsOf(config) }),
    ...evaluationRoutes({ store, now, userExists: existsIn('users'), models: modelsOf(config) }),
    transcriptSearchRoute({ store }),
    ...insightRoutes({
      store,
      now,
      timezoneOf: clockOf,
    }),
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

/** What listens beside agents. */
function copilot(
  parts: Pick<AppParts, 'store' | 'vault' | 'now' | 'log' | 'config' | 'copilot' | 'asking'>,
  live: LiveParts,
): Route[] {
  const { store, vault, now, asking = askingBy(parts) } = parts
  const { feed, starting } = parts.copilot ?? silentCopilot(now)
  return copilotSessionRoutes({
    ...asking,
    store,
    vault,
    now,
    feed,
    starting,
    live,
    search: passageSearch(store.engine),
  })
}

function silentCopilot(now: () => Date): Pick<Copilot, 'feed' | 'starting'> {
  const feed = new Feed()
  return { feed, starting: { now, feed, begun: () => {} } }
}

/** People, their queues, and who answers for them. */
function contactCentre(
  parts: Pick<AppParts, 'store' | 'vault' | 'now' | 'config'> & {
    live: LiveParts
    fits: StreamsProblem
  },
  publicUrl: string,
): Route[] {
  const { store, vault, now, config, live, fits } = parts
  const exists = {
    user: existsIn('users'),
    team: existsIn('teams'),
    assistant: existsIn('assistants'),
    copilotProfile: existsIn('copilot_profiles'),
    queue: existsIn('queues'),
    call: existsIn('calls'),
    audioAsset: existsIn('audio_assets'),
    flow: callerFlow,
    kbDocument: existsIn('kb_documents'),
    tool: existsIn('tools'),
  }
  const agents = { store, now, live }
  const timezoneOf = clockOf
  return [
    ...teamRoutes({
      store,
      now,
      memberCounts,
      forgetTeam: async (trx, tenant, id) => {
        await leaveTeam(trx, tenant, id)
        await removeTeam(trx, tenant, id)
      },
    }),
    ...invitationRoutes({
      store,
      vault,
      now,
      publicUrl,
      teamExists: exists.team,
      hasMailServer: mailerOf(config) !== null,
    }),
    ...userRoutes({
      store,
      now,
      teamExists: exists.team,
      signOut: (trx, context, id) => signOut(agents, trx, context, id),
    }),
    ...messageRoutes({ store, vault, now, sipHost: sipHostOf(config) }),
    ...sipCredentialRoutes({
      store,
      vault,
      now,
      registrar: sipAddressOf(config),
      sipWsUrl: `${wsUrlOf(config)}/v1/sip`,
    }),
    ...agentRoutes(agents),
    ...assistantRoutes({
      store,
      now,
      exists,
      urlProblem: serverUrlsOf(config),
      streamsProblem: fits,
      voices: new OfferedVoices(config),
      models: new OfferedModels(config),
      usesOf: usersOf(queuesUsing, callbacksUsing, routesLeadingTo, campaignsUsing, toolsTransferringTo),
    }),
    ...webCallRoutes({ store }),
    ...clientTokenRoutes({ store, vault, now, exists, wsUrl: wsUrlOf(config) }),
    ...copilotProfileRoutes({
      store,
      now,
      exists: { script: agentScript, kbDocument: exists.kbDocument },
      hasVersion,
      models: new OfferedModels(config),
      usesOf: queuesUsing,
    }),
    ...queueRoutes({
      store,
      now,
      exists,
      streamsProblem: fits,
      usesOf: usersOf(queuesUsing, callbacksUsing, routesLeadingTo, campaignsUsing, sitesUsing, toolsTransferringTo),
    }),
    ...queueStatsRoutes({ store, now, live, timezoneOf }),
    ...callbackRoutes({ store, now, exists, settings: organisationSettings }),
    ...doNotCallRoutes({ store, now, settings: organisationSettings }),
    ...importRoutes({ store, now, targets: IMPORT_TARGETS, settings: organisationSettings }),
    ...consentRoutes({ store, now, settings: organisationSettings, callExists: exists.call }),
    ...campaignRoutes({ store, now, exists, voices: new OfferedVoices(config) }),
    ...campaignContactRoutes({ store, now, countryOf }),
    ...campaignResultRoutes({ store, now }),
    ...campaignPreviewRoutes({ store, now, timezoneOf: clockOf, devicesOf }),
    ...siteRoutes({ store, now, exists, publicUrl }),
  ]
}

/** What is uploaded and what is reported. */
function content({ store, now, config }: Pick<AppParts, 'store' | 'now' | 'config'>): Route[] {
  const { dataDir } = config
  return [
    ...audioAssetRoutes({
      store,
      now,
      dataDir,
      convert: audioConverter(),
      usesOf: usersOf(queuesUsing, flowsUsing, campaignsUsing),
    }),
    ...kbDocumentRoutes({ store, now, search: passageSearch(store.engine), forgetDocument }),
    ...kbSearchRoutes({ store, search: passageSearch(store.engine), documentExists: existsIn('kb_documents') }),
    ...reportRoutes({
      store,
      now,
      timezoneOf: clockOf,
    }),
  ]
}

/** Flows, their trials, and the models that speak in them. */
function flows(
  {
    store,
    now,
    config,
    live,
    fits,
  }: Pick<AppParts, 'store' | 'now' | 'config'> & { live: LiveParts; fits: StreamsProblem },
  publicUrl: string,
): Route[] {
  return flowRoutes({
    store,
    streamsProblem: fits,
    models: new OfferedModels(config),
    now,
    publicUrl,
    assistantsOf,
    knownAssets,
    knownTargets,
    urlProblem: serverUrlsOf(config),
    usesOf: usersOf(assistantsLedBy, profilesScriptedBy, routesLeadingTo, campaignsUsing, toolsTransferringTo),
    modelFor: flowModels({
      store,
      models: modelsOf(config),
      passagesFor: passageFinder(passageSearch(store.engine)),
      http: null,
    }),
    streams: live.streams,
  })
}

/** What assistants share, and the secrets in it. */
function tools({ store, vault, now, config }: Pick<AppParts, 'store' | 'vault' | 'now' | 'config'>): Route[] {
  const { allowPrivateUrls: allowedNetworks } = config
  return [
    ...toolRoutes({
      store,
      now,
      urlProblem: serverUrlsOf(config),
      exists: { kbDocument: existsIn('kb_documents') },
      targetProblem: (trx, tenant, target, param) => handOverProblem(trx, tenant, [{ target }], () => param),
      usesOf: assistantsWithTool,
      parts: { post: httpPost, allowedNetworks, secrets: secretReader(store.db, vault) },
      lookUp: lookUp(passageFinder(passageSearch(store.engine))),
    }),
    ...secretRoutes({ store, vault, now, usersOf: secretUsers }),
  ]
}

/** All users that several places know of. */
const usersOf =
  (...places: UsesOf[]): UsesOf =>
  async (db, tenant, id) => {
    const users = []
    for (const uses of places) users.push(...(await uses(db, tenant, id)))
    return users
  }

const mailerOf = ({ smtpUrl = null }: AppConfig): SendMail | null => (smtpUrl === null ? null : smtpMailer(smtpUrl))

const streamDeps = (config: AppConfig): StreamDeps => ({
  signingSecret: async (db, tenant) => (await organisationSettings(db, tenant)).streamSigningSecret,
  allowedNetworks: config.allowPrivateUrls,
})

/** Judges the servers that tools and actions call. */
const serverUrlsOf = ({ allowPrivateUrls }: Pick<AppConfig, 'allowPrivateUrls'>) =>
  serverUrlProblem(allowPrivateUrls, resolveHost)
