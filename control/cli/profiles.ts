import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { newSigningKey } from '../webhooks/sign.ts'
import { type Failed, failed, isFailed, type Terminal } from './terminal.ts'

const profileSchema = Type.Object({ url: Type.String(), key: Type.String() })
const configSchema = Type.Object({
  /** The profile that is used if none is named. */
  current: Type.Optional(Type.String()),
  profiles: Type.Optional(Type.Record(Type.String(), profileSchema)),
  /** Secret for signing local deliveries (`whsec_…`). */
  webhook_secret: Type.Optional(Type.String()),
})
type ConfigFile = Type.Static<typeof configSchema>

/** Address and key of the API. */
export interface Account {
  url: string
  key: string
  /** Source of the key, for error messages. */
  from: string
}

export const NO_KEY = 'There is no key yet: set TANDEM_API_KEY, or run tandem profile add NAME --key KEY [--url URL].'
export const DEFAULT_URL = 'http://127.0.0.1:8080'
const OWNER_ONLY = 0o600
const OTHERS = 0o077

type Env = Terminal['env']

const home = (env: Env): string => env.HOME ?? homedir()

const configPath = (env: Env): string =>
  env.TANDEM_CONFIG ?? join(env.XDG_CONFIG_HOME ?? join(home(env), '.config'), 'tandem', 'config.json')

export const cacheFolder = (env: Env): string => join(env.XDG_CACHE_HOME ?? join(home(env), '.cache'), 'tandem')

/** Reads the file; empty: there is none yet. */
export function readConfigFile(env: Env): ConfigFile | Failed {
  const path = configPath(env)
  try {
    if ((statSync(path).mode & OTHERS) !== 0) return failed(`${path} can be read by others: chmod 600 ${path}`)
    const config: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return Value.Check(configSchema, config) ? config : failed(`${path} is not in our format: correct or remove it.`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    return failed(`${path} cannot be read: ${(error as Error).message}`)
  }
}

/** Writes the file atomically: after a crash the old one is still there. */
export function writeConfigFile(env: Env, config: ConfigFile): Failed | null {
  const path = configPath(env)
  const draft = `${path}.${process.pid}`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(draft, `${JSON.stringify(config, null, 2)}\n`, { mode: OWNER_ONLY })
    chmodSync(draft, OWNER_ONLY)
    renameSync(draft, path)
    return null
  } catch (error) {
    return failed(`${path} cannot be written: ${(error as Error).message}`)
  }
}

/** The account to use. `name`: the profile named on the command line. */
export function accountOf(env: Env, name: string | undefined): Account | Failed {
  const key = env.TANDEM_API_KEY
  if (name === undefined && key !== undefined && key !== '') {
    return checked({ url: env.TANDEM_API_URL ?? DEFAULT_URL, key, from: 'TANDEM_API_KEY' }, 'TANDEM_API_URL')
  }
  const config = readConfigFile(env)
  if (isFailed(config)) return config
  const wanted = name ?? env.TANDEM_PROFILE ?? config.current
  if (wanted === undefined) return failed(NO_KEY)
  const profile = config.profiles?.[wanted]
  if (profile === undefined) return failed(`There is no profile "${wanted}"; see tandem profile list.`)
  const from = `profile ${wanted}`
  return checked({ ...profile, from }, from)
}

export const isHttp = (url: string): boolean => /^https?:\/\//i.test(url) && URL.canParse(url)

function checked(account: Account, urlFrom: string): Account | Failed {
  if (!isHttp(account.url)) {
    return failed(`"${account.url}" (${urlFrom}) is no http or https address, such as ${DEFAULT_URL}.`)
  }
  return { ...account, url: account.url.replace(/\/+$/, '') }
}

/** The secret for signing local deliveries, stored for the next time. */
export function webhookSecret(env: Env): string | Failed {
  if (env.TANDEM_WEBHOOK_SECRET !== undefined) {
    const isSecret = /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(env.TANDEM_WEBHOOK_SECRET)
    return isSecret ? env.TANDEM_WEBHOOK_SECRET : failed('TANDEM_WEBHOOK_SECRET must be whsec_ and base64.')
  }
  const config = readConfigFile(env)
  if (isFailed(config)) return config
  if (config.webhook_secret !== undefined) return config.webhook_secret
  const { secret } = newSigningKey('hmac')
  return writeConfigFile(env, { ...config, webhook_secret: secret }) ?? secret
}
