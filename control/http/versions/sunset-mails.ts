import { DateTime } from 'luxon'
import type { Logger } from 'pino'
import { queueMail } from '../../kernel/mail/job.ts'
import { sha256 } from '../../kernel/secrets.ts'
import { insertNew } from '../../kernel/store/compiled.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import type { Vault } from '../../kernel/vault.ts'
import { API_VERSIONS } from '../../kernel/versions/all.ts'
import type { ApiVersion } from '../../kernel/versions/version.ts'

/** Months before a sunset (specification, "Versioning" 10). */
const NOTICES = [6, 3, 1]
/** How far back requests are looked at: further than the hour between two looks [ms]. */
const IN_USE_MS = 2 * 60 * 60 * 1000

interface SunsetMailDeps {
  store: Store
  vault: Vault
  now: () => Date
  log: Logger
  /** The site of the changelog, without a trailing slash. */
  publicUrl: string
  versions?: readonly ApiVersion[]
}

/**
 * Mails the owners and administrators of organisations whose keys or webhook endpoints use a version with a sunset: six months, three months and one
 * month before, each person once per notice. A missed notice is skipped once the next one is due. Returns the number of queued mails.
 */
export async function queueSunsetMails(deps: SunsetMailDeps): Promise<number> {
  const { store, now, versions = API_VERSIONS } = deps
  let queued = 0
  for (const { version, sunset } of versions.flatMap(({ changes }) => changes)) {
    const months = version && sunset ? dueNotice(sunset, now()) : null
    if (version === undefined || sunset === undefined || months === null) continue
    for (const organisation of await organisationsOn(store.db, version, now())) {
      queued += await tell(deps, organisation, { version, sunset, months })
    }
  }
  return queued
}

/** The latest notice that is due, in months before the sunset; null: none yet, or the sunset is over. */
export function dueNotice(sunset: string, now: Date): number | null {
  const end = DateTime.fromISO(sunset, { zone: 'utc' })
  const at = DateTime.fromJSDate(now)
  if (at >= end) return null
  return NOTICES.filter(months => at >= end.minus({ months })).at(-1) ?? null
}

interface Pinned {
  id: string
  name: string
  /** What has to be changed: names of keys, URLs of endpoints. */
  places: string[]
}

/** The organisations with enabled endpoints of a version, or valid keys that are pinned to it or have just chosen it, in either mode. */
async function organisationsOn(db: Db, version: string, now: Date): Promise<Pinned[]> {
  const choosing = db
    .selectFrom('request_logs')
    .select('api_key_id')
    .where('created', '>', new Date(now.getTime() - IN_USE_MS).toISOString())
    .where('api_version', '=', version)
  const keys = await db
    .selectFrom('api_keys')
    .innerJoin('organisations', 'organisations.id', 'api_keys.organisation_id')
    .select(['organisations.id', 'organisations.name', 'api_keys.name as label', 'hint'])
    .where(eb => eb.or([eb('api_version', '=', version), eb('api_keys.id', 'in', choosing)]))
    .where(eb => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now.toISOString())]))
    .execute()
  const endpoints = await db
    .selectFrom('webhook_endpoints')
    .innerJoin('organisations', 'organisations.id', 'webhook_endpoints.organisation_id')
    .select(['organisations.id', 'organisations.name', 'url'])
    .where('api_version', '=', version)
    .where('status', '=', 'enabled')
    .execute()
  const all = new Map<string, Pinned>()
  for (const row of [...keys, ...endpoints]) {
    const pinned = all.get(row.id) ?? { id: row.id, name: row.name, places: [] }
    pinned.places.push('url' in row ? `webhook endpoint ${row.url}` : `API key ${row.label} ${row.hint}`)
    all.set(row.id, pinned)
  }
  return [...all.values()]
}

const MAX_PLACES = 50

/** A row per person records that the mail was queued: both are written or neither, whatever dies in between. */
async function tell(
  deps: SunsetMailDeps,
  organisation: Pinned,
  notice: { version: string; sunset: string; months: number },
): Promise<number> {
  const { store, vault, now, log } = deps
  const { version, sunset, months } = notice
  const emails = await administratorsOf(store.db, organisation.id)
  if (emails.length === 0) {
    log.warn({ organisationId: organisation.id, version, sunset }, 'nobody to tell of the sunset of an API version')
    return 0
  }
  let queued = 0
  for (const email of emails) {
    await store.transaction(async trx => {
      const row = { organisation_id: organisation.id, version, months, email, created: now().toISOString() }
      if (!(await insertNew(trx, 'sunset_notices', row))) return
      const id = `sunset.${organisation.id}.${version}.${months}.${sha256(email).slice(0, 16)}`
      const mail = { id, to: email, ...textOf(deps, organisation, notice) }
      await queueMail(trx, vault, mail, { now: now(), organisationId: organisation.id })
      queued += 1
    })
  }
  return queued
}

async function administratorsOf(db: Db, organisationId: string): Promise<string[]> {
  const users = await db
    .selectFrom('users')
    .select('email')
    .distinct()
    .where('organisation_id', '=', organisationId)
    .where('role', 'in', ['owner', 'admin'])
    .where('status', '=', 'active')
    .orderBy('email')
    .execute()
  return users.map(({ email }) => email)
}

function textOf(
  { publicUrl }: SunsetMailDeps,
  { name, places }: Pinned,
  { version, sunset, months }: { version: string; sunset: string; months: number },
): { subject: string; text: string } {
  const more = places.length - MAX_PLACES
  return {
    subject: `API version ${version} goes on ${sunset}`,
    text: [
      `${name} still uses API version ${version}, which works until ${sunset}: ${months === 1 ? 'one month' : `${months} months`} from now.`,
      '',
      ...places.slice(0, MAX_PLACES).map(place => `- ${place}`),
      ...(more > 0 ? [`- and ${more} more`] : []),
      '',
      `What changed since, and how to upgrade: ${publicUrl}/changelog`,
      '',
    ].join('\n'),
  }
}
