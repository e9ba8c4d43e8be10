import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { digitRuns } from '../../organisation/redaction/digits.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'

/** A text that is stored already, in a row of its own. */
export interface Earlier {
  id: string
  text: string
}

interface Telling {
  /** What the same person has said just before, oldest first. */
  earlier: () => Promise<Earlier[]>
  /** Puts another text into an earlier row. */
  rewrite: (row: Earlier) => Promise<void>
  /** Puts it into the object of an event that told of such a row. */
  retell: (object: Record<string, unknown>, text: string) => Record<string, unknown>
}

/**
 * What is to be stored of a text. A card number that was said in pieces is known by its last one: the pieces before are then taken out of
 * their rows and their events.
 */
export async function redacted(trx: Trx, tenant: Tenant, text: string, telling: Telling): Promise<string> {
  const redact = await redactorOf(trx, tenant)
  if (!touchesNumber(text)) return redact(text)
  const before = await telling.earlier()
  const texts = redact.all([...before.map(row => row.text), text])
  for (const [i, row] of before.entries()) {
    const next = { id: row.id, text: texts[i] ?? '' }
    if (next.text === row.text) continue
    await telling.rewrite(next)
    await retell(trx, tenant, next, telling.retell)
  }
  return texts.at(-1) ?? ''
}

/** Deliveries that wait send an event as it is when they are sent. */
export async function retell(trx: Trx, tenant: Tenant, { id, text }: Earlier, into: Telling['retell']): Promise<void> {
  const scoped = forTenant(trx, tenant)
  const events = await scoped.select('events').select(['id', 'data']).where('object_id', '=', id).execute()
  for (const event of events) {
    const data = JSON.parse(event.data) as { object: Record<string, unknown> }
    const told = JSON.stringify({ ...data, object: into(data.object, text) })
    await scoped.update('events').set({ data: told }).where('id', '=', event.id).execute()
  }
}

/** Whether it goes on with a number, or may end in one: then what came before and after belongs to it. */
function touchesNumber(text: string): boolean {
  const [first] = digitRuns(text)
  return first !== undefined && !/[\p{L}\p{N}]/u.test(text.slice(0, first.start))
}
