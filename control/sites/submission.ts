import { type BookingDeps, bookCallback } from '../callbacks/booking.ts'
import { invalid, isProblem, needed, type Problem, problem } from '../http/errors.ts'
import { sha256 } from '../kernel/secrets.ts'
import { insertNew } from '../kernel/store/compiled.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant, tenantOf } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { returnedByQueue } from '../queues/callbacks/of-queue.ts'
import { provenUntil } from './proof.ts'
import { type SiteRequest, settingsOf } from './schema.ts'
import type { SiteRow } from './tables.ts'

export interface SubmissionDeps extends BookingDeps {
  store: Store
  vault: Vault
}

/** Why a page may not use the form of a site; null: it may. */
export function originProblem(site: SiteRow, origin: string): Problem | null {
  if (settingsOf(site).origins.includes(origin)) return null
  return problem('origin_mismatch', 'The form is not for this website: add its origin to the site.')
}

/** Books the callback that a visitor asks for, or says why not. `origin`: of the page, which the site allows. */
export async function submit(
  deps: SubmissionDeps,
  site: SiteRow,
  origin: string,
  sent: SiteRequest,
): Promise<{ object: 'callback_request'; livemode: boolean; due_at: string } | Problem> {
  const tenant = tenantOf(site)
  const refused = fieldProblem(site, origin, sent)
  if (refused !== null) return refused
  const until = provenUntil(deps.vault, site.id, sent, deps.now())
  if (until === null) return unproven()
  return deps.store.transaction(async trx => {
    if (!(await takeProof(trx, tenant, sent.challenge, until, deps.now()))) return unproven()
    const { page, language = null, phone, name, message } = sent
    const queue = site.queue_id === null ? undefined : await forTenant(trx, tenant).find('queues', site.queue_id)
    const callback = await bookCallback(deps, trx, tenant, {
      ...(queue === undefined ? {} : returnedByQueue(queue)),
      phone,
      ...(name ? { name } : {}),
      ...(message ? { note: message } : {}),
      source: 'web',
      author: site.name,
      site: { id: site.id, page, language },
    })
    if (isProblem(callback)) return callback
    return { object: 'callback_request' as const, livemode: tenant.livemode, due_at: callback.due_at }
  })
}

const unproven = (): Problem =>
  invalid('solution', 'The proof of work is wrong, was used, or has expired: request a new challenge.')

function fieldProblem(site: SiteRow, origin: string, sent: SiteRequest): Problem | null {
  if (sent.website) return invalid('website', 'This field must stay empty.')
  if (!URL.canParse(sent.page) || new URL(sent.page).origin !== origin) {
    return invalid('page', 'The page does not belong to the website that sends the request.')
  }
  for (const [param, how] of Object.entries(settingsOf(site).fields) as ['name' | 'message', string][]) {
    const isThere = (sent[param] ?? '').trim() !== ''
    if (how === 'required' && !isThere) return needed(param, `${param} is needed.`)
    if (how === 'hidden' && isThere)
      return problem('parameter_unknown', `The form does not ask for ${param}.`, { param })
  }
  return null
}

/** Uses up a proof of work; false: it was used before. Deletes expired ones. */
async function takeProof(trx: Trx, tenant: Tenant, challenge: string, expiresAt: string, now: Date): Promise<boolean> {
  await trx.deleteFrom('site_proofs').where('expires_at', '<=', now.toISOString()).execute()
  return insertNew(trx, 'site_proofs', { ...ownedBy(tenant), id: sha256(challenge), expires_at: expiresAt })
}
