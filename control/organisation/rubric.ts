import Type, { type Static } from 'typebox'
import { invalid, needed, type Problem } from '../http/errors.ts'
import { input, nullable, objectName, oneOf } from '../kernel/schema.ts'

/** Rubrics by which calls are evaluated, of the organisation and of copilot profiles. */

const key = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$', description: 'Unique in its list.' })
const limit = (description: string) => Type.Optional(Type.Number({ minimum: -10_000, maximum: 10_000, description }))

const FIGURES = [
  'talk_ratio',
  'monologue_seconds',
  'silence_seconds',
  'words_per_minute',
  'interruptions',
  'sentiment',
] as const
/** What a check of phrases, or of a figure, goes by; the others take neither. */
const OF_PHRASES = ['phrases', 'by', 'within_seconds'] as const
const OF_FIGURE = ['least', 'most'] as const
const KINDS = ['phrases', 'disclosures', 'forbidden_phrases', 'checklist', ...FIGURES] as const
export type FigureKind = (typeof FIGURES)[number]

const check = input({
  kind: oneOf([...KINDS], {
    description:
      "phrases: any of `phrases` is said. disclosures, forbidden_phrases, checklist: those of the profile. The others compare a figure of the call with `least` and `most`; sentiment is the customer's, -1 to 1.",
  }),
  phrases: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 500 }), { maxItems: 100 })),
  by: Type.Optional(oneOf(['agent', 'customer'], { description: 'Who must say the phrases. Default: agent.' })),
  within_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 36_000,
      description: "Phrases count up to this time after the agent's first word; absent: in the whole call.",
    }),
  ),
  least: limit('Of a figure.'),
  most: limit('Of a figure.'),
})

/** A criterion. Without a check, a model or a person judges it. */
export const criterionSchema = input({
  key,
  label: objectName(),
  description: Type.String({ maxLength: 2000, default: '', description: 'What a model or a person judges.' }),
  weight: Type.Number({ minimum: 0, maximum: 10_000, default: 1 }),
  check: Type.Optional(nullable(check)),
})
export type Criterion = Static<typeof criterionSchema>

export const isFigure = (kind: string): kind is FigureKind => (FIGURES as readonly string[]).includes(kind)

/** Why these criteria cannot be scored, or null. */
export function rubricProblem(rubric: readonly Criterion[], param: string): Problem | null {
  for (const [i, { key: own, check: how }] of rubric.entries()) {
    const at = `${param}[${i}]`
    if (rubric.findIndex(other => other.key === own) < i) return invalid(`${at}.key`, 'A key is in its list twice.')
    if (how == null) continue
    if (how.kind === 'phrases' && (how.phrases ?? []).length === 0) {
      return needed(`${at}.check.phrases`, 'A check of phrases needs phrases.')
    }
    const stray = [...(how.kind === 'phrases' ? [] : OF_PHRASES), ...(isFigure(how.kind) ? [] : OF_FIGURE)]
    const unused = stray.find(name => how[name] !== undefined)
    if (unused !== undefined) return invalid(`${at}.check.${unused}`, `A check of ${how.kind} does not use ${unused}.`)
    if (isFigure(how.kind) && how.least === undefined && how.most === undefined) {
      return needed(`${at}.check.least`, 'A check of a figure needs least or most.')
    }
  }
  return null
}
