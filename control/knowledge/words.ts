import type { Tenant } from '../kernel/tenancy.ts'

/** More words than a question has; each costs a look-up. */
const MAX_WORDS = 24

/** The words of a text, as both search engines cut it: letters and digits, in lower case. */
export const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? []

/** The distinct words of a question. */
export const questionWords = (question: string): string[] => [...new Set(wordsOf(question))].slice(0, MAX_WORDS)

/** A tenant's name in an index of texts. */
export const nameOf = ({ organisationId, livemode }: Tenant): string =>
  `${organisationId}_${livemode ? 'live' : 'test'}`

/** No word of a text begins so. */
export const markOf = (tenant: Tenant): string => `=${nameOf(tenant)}`

/** A string of FTS5's query language: whatever it holds is text, not an operator. */
export const phrase = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** A quoted lexeme of PostgreSQL. */
export const lexeme = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Without accents, as SQLite's tokenizer sees it. */
export const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
