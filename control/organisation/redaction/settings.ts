import Type from 'typebox'
import { invalid, type Problem } from '../../http/errors.ts'
import { compilePattern, MAX_PROGRAM } from '../../kernel/pattern.ts'
import { remembered } from '../../kernel/remembered.ts'
import { input, oneOf } from '../../kernel/schema.ts'
import type { Db } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import { makeRedactor, type RedactionRules, type Redactor } from './redactor.ts'

const pattern = input({
  name: Type.String({
    pattern: '^[^\\[\\]\\r\\n]{1,60}$',
    description: 'Shown in brackets in place of what was removed.',
  }),
  pattern: Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'A regular expression in RE2 syntax (no look-around, no back-references); `(?i)` ignores case.',
  }),
})

/** What is removed from an organisation's calls before they are stored or shown to a model. */
export const redactionFields = {
  card_numbers: Type.Boolean({
    description:
      "Card numbers (13 to 19 digits with a valid check digit), written or said digit by digit, and the card's other codes.",
  }),
  identity_numbers: Type.Array(oneOf(['il_id', 'us_ssn']), {
    maxItems: 2,
    uniqueItems: true,
    description: 'il_id: Israeli identity numbers; us_ssn: numbers in the valid range of US social security numbers.',
  }),
  patterns: Type.Array(pattern, { maxItems: 50 }),
}

const DEFAULT_REDACTION: RedactionRules = { card_numbers: true, identity_numbers: [], patterns: [] }

/** JSON of `organisations.redaction`; missing fields have their defaults. */
export const redactionOf = (json: string | null): RedactionRules => ({
  ...DEFAULT_REDACTION,
  ...(json === null ? {} : (JSON.parse(json) as Partial<RedactionRules>)),
})

/** Why these rules cannot be used, or null. */
export function redactionProblem({ patterns = [] }: Partial<RedactionRules> = {}): Problem | null {
  let size = 0
  for (const [i, { pattern }] of patterns.entries()) {
    const param = `redaction.patterns[${i}].pattern`
    const compiled = compilePattern(pattern)
    if (typeof compiled === 'string') return invalid(param, `RE2 does not accept the pattern: ${compiled}.`)
    if (compiled.matches('')) return invalid(param, 'The pattern matches an empty text.')
    size += compiled.programSize()
    if (size > MAX_PROGRAM) return invalid(param, 'The patterns together are too large.')
  }
  return null
}

/** Number of rule sets whose compiled form is cached. */
const MAX_REMEMBERED = 1000
const redactorBy = remembered(MAX_REMEMBERED, json => makeRedactor(redactionOf(json === '' ? null : json)))

/** The redactor with an organisation's current rules. */
export async function redactorOf(db: Db, { organisationId }: Tenant): Promise<Redactor> {
  const row = await db
    .selectFrom('organisations')
    .select('redaction')
    .where('id', '=', organisationId)
    .executeTakeFirst()
  return redactorBy(row?.redaction ?? '')
}
