import { written } from '../../kernel/store/after-commit.ts'
import type { Trx } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { digitRuns } from '../../organisation/redaction/digits.ts'
import { redactorOf } from '../../organisation/redaction/settings.ts'

/** A text that is already stored, in a row of its own. */
interface Earlier {
  id: string
  text: string
}

interface Telling {
  /** What the same person said just before, oldest first. */
  earlier: () => Promise<Earlier[]>
  /** Replaces the text of an earlier row. */
  rewrite: (row: Earlier) => Promise<void>
  /** Replaces it in the object of an event about such a row. */
  retell: (object: Record<string, unknown>, text: string) => Record<string, unknown>
}

/**
 * The text to store. A card number that is said in pieces is recognised by its last piece. The earlier pieces are then removed from their
 * rows and events.
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

/** Also reaches waiting deliveries: they send an event as it is at that time. */
export async function retell(trx: Trx, tenant: Tenant, { id, text }: Earlier, into: Telling['retell']): Promise<void> {
  const scoped = forTenant(trx, tenant)
  await written(trx)
  const events = await scoped.select('events').select(['id', 'data']).where('object_id', '=', id).execute()
  for (const event of events) {
    const data = JSON.parse(event.data) as { object: Record<string, unknown> }
    const told = JSON.stringify({ ...data, object: into(data.object, text) })
    await scoped.change('events', event.id, { data: told })
  }
}

/** Whether the text continues a number or may end in one: then the texts before and after belong to it. */
function touchesNumber(text: string): boolean {
  const [first] = digitRuns(text)
  return first !== undefined && !/[\p{L}\p{N}]/u.test(text.slice(0, first.start))
}
