import type { Db } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import type { PassageSearch } from '../../knowledge/search.ts'
import type { ChatRequest } from '../../models/model.ts'
import { sameWords, stem } from '../offline/english.ts'
import { neighbours } from '../offline/word-vectors.ts'
import { tellingWords } from './answer-by-words.ts'

const PASSAGES = 4
/** A knowledge base of at most this many passages is used as a whole. */
const WHOLE = 24
/** Maximum number of passages that contain the question's words or words of similar meaning. */
const RELATED = 24
/** How many words of similar meaning are searched for in all, the minimum for each word of the question, and their minimum similarity. */
const SYNONYMS = 24
const SYNONYMS_EACH = 3
const MIN_NEARNESS = 0.62

export type PassageFinder = (
  db: Db,
  tenant: Tenant,
  documentIds: string[],
  question: string,
) => Promise<Pick<ChatRequest, 'passages' | 'more'>>

/** Finds passages by the topic of a question. */
export const passageFinder =
  (search: PassageSearch): PassageFinder =>
  async (db, tenant, documentIds, question) => {
    const words = tellingWords(question)
    const find = async (asked: readonly string[], limit: number): Promise<string[]> => {
      const found = await search.find(db, tenant, asked.join(' '), { documentIds, limit })
      return found.map(({ passageId }) => passageId)
    }
    const more = async (): Promise<string[]> => {
      const few = await firstPassages(db, tenant, documentIds)
      if (few.length <= WHOLE) return few
      const related = relatedTo(words)
      return textsOf(db, tenant, [...(await find(words, RELATED)), ...(await find(related, RELATED))])
    }
    return { passages: await textsOf(db, tenant, await find(words, PASSAGES)), more }
  }

/** Words of similar meaning to those of a question. One form of each is enough, since the search stems words. */
function relatedTo(words: readonly string[]): string[] {
  const each = Math.max(SYNONYMS_EACH, Math.floor(SYNONYMS / Math.max(1, words.length)))
  return words.flatMap(word => {
    const forms = new Map<string, string>()
    for (const other of [...sameWords(word), ...neighbours(word, each, MIN_NEARNESS)]) {
      if (stem(other) !== stem(word) && !forms.has(stem(other))) forms.set(stem(other), other)
    }
    return [...forms.values()].slice(0, each)
  })
}

async function firstPassages(db: Db, tenant: Tenant, documentIds: string[]): Promise<string[]> {
  const all = forTenant(db, tenant).select('kb_passages')
  const within = documentIds.length === 0 ? all : all.where('document_id', 'in', documentIds)
  const rows = await within
    .select('text')
    .orderBy('document_id')
    .orderBy('position')
    .limit(WHOLE + 1)
    .execute()
  return rows.map(({ text }) => text)
}

/** The texts of passages, in this order. */
async function textsOf(db: Db, tenant: Tenant, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await forTenant(db, tenant)
    .select('kb_passages')
    .select(['id', 'text'])
    .where('id', 'in', [...new Set(ids)])
    .execute()
  const texts = new Map(rows.map(({ id, text }) => [id, text]))
  return [...new Set(ids)].flatMap(id => texts.get(id) ?? [])
}
