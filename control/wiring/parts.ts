import type { Logger } from 'pino'
import type { StreamDeps } from '../calls/capture/streams.ts'
import type { RunningCalls } from '../calls/conductor/running-calls.ts'
import type { ModelParts } from '../copilot/deep/answer.ts'
import type { Copilot } from '../copilot/sessions/copilot.ts'
import type { UsesOf } from '../http/references.ts'
import { resolveHost, serverUrlProblem } from '../http/url-policy.ts'
import { reachableHost, urlHost } from '../kernel/addresses.ts'
import type { Config } from '../kernel/config/settings.ts'
import { type SendMail, smtpMailer } from '../kernel/mail/mail.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import type { MediaPort } from '../media-link/events.ts'
import { organisationSettings } from '../organisation/routes.ts'
import type { CallCentre } from '../queues/call-centre.ts'
import type { Counters, MediaHealth } from './health.ts'

/** Tests leave out what has a default. */
export type AppConfig = Partial<Config> &
  Pick<Config, 'allowPrivateUrls' | 'dataDir' | 'httpHost' | 'httpPort' | 'maxObjects' | 'publicIps' | 'sipHosts'>

export interface AppParts {
  store: Store
  media: MediaPort & MediaHealth
  config: AppConfig
  vault: Vault
  now: () => Date
  log: Logger
  rate?: { burst: number; perSecond: number }
  /** Counters of the parts outside the app, for `/metrics`. */
  counters?: () => Counters
  /** Whether the store cannot be written, even if it can be read. */
  isStoreAway?: () => boolean
  /** The call centre of the driver; absent: one of its own, for tests without calls. */
  centre?: CallCentre
  /** Listens to the calls of agents; absent: copilot sessions exist, but hear nothing. */
  copilot?: Pick<Copilot, 'feed' | 'starting'>
  /** The models that answer agents; absent: its own. */
  asking?: ModelParts
  /** Calls that can be ended while the store is unavailable; absent: none. */
  running?: Pick<RunningCalls, 'find'>
}

export const clockOf = async (db: Db, tenant: Tenant): Promise<string> =>
  (await organisationSettings(db, tenant)).timezone

/** Where our own SIP is reached from this machine. */
export const loopbackOf = ({ sipHosts, sipPort }: AppParts['config']): { host: string; port: number } => ({
  host: urlHost(reachableHost(sipHosts[0]!)),
  port: sipPort ?? 5060,
})

export const mailerOf = ({ smtpUrl = null }: AppConfig): SendMail | null =>
  smtpUrl === null ? null : smtpMailer(smtpUrl)

export const streamDeps = (config: AppConfig): StreamDeps => ({
  signingSecret: async (db, tenant) => (await organisationSettings(db, tenant)).streamSigningSecret,
  allowedNetworks: config.allowPrivateUrls,
})

/** Checks the URLs of servers that tools and actions call. */
export const serverUrlsOf = ({ allowPrivateUrls }: Pick<AppConfig, 'allowPrivateUrls'>) =>
  serverUrlProblem(allowPrivateUrls, resolveHost)

/** Joins several lookups of what uses an object. */
export const usersOf =
  (...places: UsesOf[]): UsesOf =>
  async (db, tenant, id) => {
    const users = []
    for (const uses of places) users.push(...(await uses(db, tenant, id)))
    return users
  }
