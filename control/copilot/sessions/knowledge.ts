import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import { type Meant, objectionsIn } from '../fast/objections.ts'
import type { Passage, SaidInput } from '../fast/state.ts'
import type { ProfileSettings } from '../schema.ts'
import { wordsOf } from '../words/fold.ts'
import { isLight } from '../words/likeness.ts'

/** Maximum number of passages for one utterance. */
const LIMIT = 3
/** Minimum number of words, without stop words, in a query. */
const MIN_TELLING = 2

/** The passages of the profile's documents that fit a text, best first. */
export async function passagesOn(
  search: PassageSearch,
  db: Db,
  tenant: Tenant,
  { kb }: Pick<ProfileSettings, 'kb'>,
  text: string,
  least = MIN_TELLING,
): Promise<Passage[]> {
  const telling = [...new Set(wordsOf(text).flatMap(word => (isLight(word.text) ? [] : [word.raw])))]
  if (telling.length < least) return []
  const found = await search.find(db, tenant, telling.join(' '), { documentIds: kb.document_ids, limit: LIMIT })
  if (found.length === 0) return []
  const rows = await forTenant(db, tenant)
    .select('kb_passages')
    .select(['id', 'document_id', 'text'])
    .where(
      'id',
      'in',
      found.map(({ passageId }) => passageId),
    )
    .execute()
  return found.flatMap(({ passageId, score }) => {
    const row = rows.find(({ id }) => id === passageId)
    const rounded = Math.round(score * 1000) / 1000
    return row === undefined ? [] : [{ id: row.id, documentId: row.document_id, text: row.text, score: rounded }]
  })
}

/** Looks up what the fast path, which does no I/O, needs for a customer's words. */
export async function lookUp(
  search: PassageSearch,
  db: Db,
  tenant: Tenant,
  settings: ProfileSettings,
  { text, isFinal, meant }: Pick<SaidInput, 'text' | 'isFinal' | 'meant'>,
): Promise<{ passages: Passage[]; onObjection: Record<string, Passage[]> }> {
  const onObjection = await passagesOnObjections(search, db, tenant, settings, text, meant)
  return { passages: isFinal ? await passagesOn(search, db, tenant, settings, text) : [], onObjection }
}

/** Passages for the objections in a text, found by their `kb_query`. */
export async function passagesOnObjections(
  search: PassageSearch,
  db: Db,
  tenant: Tenant,
  settings: ProfileSettings,
  text: string,
  meant: Meant | undefined,
): Promise<Record<string, Passage[]>> {
  const found: Record<string, Passage[]> = {}
  for (const { key } of objectionsIn(settings, text, wordsOf(text), meant)) {
    const query = settings.objections.find(one => one.key === key)?.kb_query ?? ''
    if (query !== '') found[key] = await passagesOn(search, db, tenant, settings, query, 1)
  }
  return found
}
