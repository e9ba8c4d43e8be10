import type { Tenant } from '../kernel/tenancy.ts'

/** Maximum number of words in a question, since each costs a lookup. */
const MAX_WORDS = 24

/**
 * The words of a text, as both search engines split it: letters and digits, in lower case. A letter is in one piece, whether it was written so or with a mark
 * of its own: SQLite's tokenizer does not know that these are the same.
 */
export const wordsOf = (text: string): string[] =>
  text
    .normalize('NFC')
    .toLowerCase()
    .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []

/** The distinct words of a question. */
export const questionWords = (question: string): string[] => [...new Set(wordsOf(question))].slice(0, MAX_WORDS)

/** A tenant's name in a text index. */
export const nameOf = ({ organisationId, livemode }: Tenant): string =>
  `${organisationId}_${livemode ? 'live' : 'test'}`

/** A tenant's name as a word that no text contains. */
export const markOf = (tenant: Tenant): string => `=${nameOf(tenant)}`

/** A string in FTS5's query language, which contains no operators. */
export const phrase = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** A quoted lexeme of PostgreSQL. */
export const lexeme = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** A text without accents, as SQLite's tokenizer sees it. */
export const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
