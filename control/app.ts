import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { reachableHost, urlHost } from './addresses.ts'
import { audioConverter } from './audio/convert.ts'
import { CallDriver } from './calls/driver.ts'
import type { StreamDeps } from './calls/streams.ts'
import type { Config } from './config.ts'
import { assistantsLedBy, assistantsOf, knownAssets, profilesScriptedBy } from './contact-centre/flow-users.ts'
import { modelChooser } from './flows/model-choice.ts'
import { StreamSlots } from './http/event-stream.ts'
import { DEFAULT_RATE } from './http/limits.ts'
import { existsIn, type UsesOf } from './http/references.ts'
import { measureRequests } from './http/request-metrics.ts'
import type { Route } from './http/route.ts'
import { createServer, mountOperations } from './http/server.ts'
import { resolveHost } from './http/url-policy.ts'
import { sqliteSearch } from './kb/sqlite-search.ts'
import { smtpMailer } from './mail.ts'
import type { MediaPort } from './media-events.ts'
import { VERSION } from './package.ts'
import { agentRoutes, signOut } from './resources/agents.ts'
import { apiKeyRoutes } from './resources/api-keys.ts'
import { assistantRoutes } from './resources/assistants.ts'
import { audioAssetRoutes } from './resources/audio-assets/routes.ts'
import { callbackRoutes } from './resources/callbacks/routes.ts'
import { callbacksUsing } from './resources/callbacks/store.ts'
import { callRoutes } from './resources/calls.ts'
import { clientTokenRoutes } from './resources/client-tokens.ts'
import { conferenceRoomRoutes } from './resources/conference-rooms.ts'
import { connectionRoutes } from './resources/connections.ts'
import { copilotProfileRoutes } from './resources/copilot-profiles/routes.ts'
import { serveDocs } from './resources/docs.ts'
import { eventRoutes } from './resources/events.ts'
import { flowRoutes } from './resources/flows/routes.ts'
import { flowsUsing } from './resources/flows/uses.ts'
import { type MediaHealth, serveHealth } from './resources/health.ts'
import { inboundRouteRoutes } from './resources/inbound-routes.ts'
import { kbDocumentRoutes } from './resources/kb-documents.ts'
import { kbSearchRoutes } from './resources/kb-search.ts'
import { organisationRoutes, organisationSettings } from './resources/organisation.ts'
import { pciRoutes } from './resources/pci.ts'
import { phoneNumberRoutes } from './resources/phone-numbers.ts'
import { queueRoutes } from './resources/queues/routes.ts'
import { queuesAnsweredBy, queuesUsing, removeTeam } from './resources/queues/store.ts'
import { recordingRoutes } from './resources/recordings.ts'
import { reportRoutes } from './resources/reports.ts'
import { roomHistoryRoutes } from './resources/room-history.ts'
import { roomParticipantRoutes } from './resources/room-participants.ts'
import { callStreams, streamRoutes } from './resources/streams.ts'
import { teamRoutes } from './resources/teams.ts'
import { testHelperRoutes } from './resources/test-helpers.ts'
import { leaveTeam, memberCounts, userRoutes } from './resources/users.ts'
import { webhookDeliveryRoutes } from './resources/webhook-deliveries.ts'
import { webhookEndpointRoutes } from './resources/webhook-endpoints/routes.ts'
import type { Store } from './store.ts'
import type { Vault } from './vault.ts'
import { WebhookDispatcher } from './webhooks/dispatcher.ts'
import { httpPost } from './webhooks/http-post.ts'

/** A caller waits no longer for a model's line [ms]. */
const MODEL_TIMEOUT_MS = 10_000

export type AppConfig = Pick<
  Config,
  'allowPrivateUrls' | 'dataDir' | 'httpHost' | 'httpPort' | 'publicIp' | 'sipHost'
> &
  Partial<Pick<Config, 'modelKey' | 'modelName' | 'modelUrl' | 'smtpUrl'>>

export interface AppParts {
  store: Store
  media: MediaPort & MediaHealth
  config: AppConfig
  vault: Vault
  now: () => Date
  log: Logger
  rate?: { burst: number; perSecond: number }
}

/** Builds and wires the whole HTTP side; listens to nothing, so that tests inject requests. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { store, media, now, log, rate = DEFAULT_RATE } = parts
  const app = await createServer({ log, version: VERSION })
  const registry = measureRequests(app)
  await mountOperations(app, routes(parts), { store, now, log, rate })
  serveHealth(app, { store, media, registry })
  serveDocs(app)
  await app.ready()
  return app
}

/** What turns media's events into rows, events and commands. */
export function buildDriver(parts: Pick<AppParts, 'store' | 'config' | 'now' | 'log'>): CallDriver {
  const { store, now, log, config } = parts
  return new CallDriver({ store, now, log, streams: streamDeps(config) })
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

/** Every operation of the API, in the order of its documentation. */
export function routes({ store, media, config, vault, now }: AppParts): Route[] {
  const sipHost = config.publicIp ?? reachableHost(config.sipHost)
  const publicUrl = `http://${urlHost(reachableHost(config.httpHost))}:${config.httpPort}`
  const dial = { store, media, now, sipHost }
  const streams = { ...streamDeps(config), store, media, now, resolve: resolveHost }
  return [
    ...callRoutes({ ...dial, streams: callStreams(streams) }),
    ...streamRoutes(streams),
    ...pciRoutes({
      store,
      media,
      pciOf: async (db, tenant) => (await organisationSettings(db, tenant)).pci,
    }),
    ...recordingRoutes({ store, dataDir: config.dataDir }),
    ...conferenceRoomRoutes({ store, now, publicUrl }),
    ...roomHistoryRoutes({ store, now }),
    ...roomParticipantRoutes(dial),
    ...inboundRouteRoutes({ store, now }),
    ...phoneNumberRoutes({ store, now }),
    ...connectionRoutes({ store, now }),
    ...contactCentre({ store, vault, now }, publicUrl),
    ...content({ store, now, config }),
    ...flows({ store, now, config }, publicUrl),
    ...eventRoutes({ store }),
    ...webhookEndpointRoutes({ store, vault, now, resolve: resolveHost, allowedNetworks: config.allowPrivateUrls }),
    ...webhookDeliveryRoutes({ store, now }),
    ...testHelperRoutes({ store, now }),
    ...organisationRoutes({ store, now }),
    ...apiKeyRoutes({ store, now }),
  ]
}

/** People, their queues, and who answers for them. */
function contactCentre({ store, vault, now }: Pick<AppParts, 'store' | 'vault' | 'now'>, publicUrl: string): Route[] {
  const exists = {
    user: existsIn('users'),
    team: existsIn('teams'),
    assistant: existsIn('assistants'),
    copilotProfile: existsIn('copilot_profiles'),
    queue: existsIn('queues'),
    call: existsIn('calls'),
    audioAsset: existsIn('audio_assets'),
    flow: existsIn('flows'),
    kbDocument: existsIn('kb_documents'),
  }
  const agents = { store, now, queuesOf: queuesAnsweredBy }
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
    ...userRoutes({
      store,
      now,
      teamExists: exists.team,
      signOut: (trx, context, id) => signOut(agents, trx, context, id),
    }),
    ...agentRoutes(agents),
    ...assistantRoutes({ store, now, exists, usesOf: usersOf(queuesUsing, callbacksUsing) }),
    ...clientTokenRoutes({ store, vault, now, exists, publicUrl }),
    ...copilotProfileRoutes({ store, now, exists, usesOf: queuesUsing }),
    ...queueRoutes({ store, now, exists, usesOf: usersOf(queuesUsing, callbacksUsing) }),
    ...callbackRoutes({ store, now, exists, settings: organisationSettings }),
  ]
}

/** What is uploaded and what is reported. */
function content({ store, now, config }: Pick<AppParts, 'store' | 'now' | 'config'>): Route[] {
  const { dataDir, smtpUrl = null } = config
  return [
    ...audioAssetRoutes({ store, now, dataDir, convert: audioConverter(), usesOf: usersOf(queuesUsing, flowsUsing) }),
    ...kbDocumentRoutes({ store, now, search: sqliteSearch }),
    ...kbSearchRoutes({ store, search: sqliteSearch, documentExists: existsIn('kb_documents') }),
    ...reportRoutes({
      store,
      now,
      sendMail: smtpUrl === null ? null : smtpMailer(smtpUrl),
      timezoneOf: async (db, tenant) => (await organisationSettings(db, tenant)).timezone,
    }),
  ]
}

/** Flows, their trials, and the models that speak in them. */
function flows({ store, now, config }: Pick<AppParts, 'store' | 'now' | 'config'>, publicUrl: string): Route[] {
  const { modelUrl: baseUrl = null, modelKey: apiKey = null, modelName: defaultModel = '' } = config
  const provider = baseUrl === null ? null : { baseUrl, apiKey, defaultModel, timeoutMs: MODEL_TIMEOUT_MS }
  return flowRoutes({
    store,
    now,
    publicUrl,
    assistantsOf,
    knownAssets,
    usesOf: usersOf(assistantsLedBy, profilesScriptedBy),
    modelFor: modelChooser(store, provider),
    streams: new StreamSlots(),
  })
}

/** All users that several places know of. */
const usersOf =
  (...places: UsesOf[]): UsesOf =>
  async (db, tenant, id) => {
    const users = []
    for (const uses of places) users.push(...(await uses(db, tenant, id)))
    return users
  }

const streamDeps = (config: AppConfig): StreamDeps => ({
  signingSecret: async (db, tenant) => (await organisationSettings(db, tenant)).streamSigningSecret,
  allowedNetworks: config.allowPrivateUrls,
})
