import { invalid, type Problem } from '../http/errors.ts'
import { storedSettings } from '../http/merge.ts'
import { compileSpoken } from '../kernel/pattern.ts'
import { rubricProblem } from '../organisation/rubric.ts'
import type { ProfileSettings } from './schema.ts'

export const DEFAULT_SETTINGS: ProfileSettings = {
  goal: '',
  tone: '',
  company: '',
  product: '',
  language: 'en',
  stages: [],
  objections: [],
  fields: [],
  alerts: [],
  qa_rubric: [],
  kb: { document_ids: [], links: [], min_score: 0.5 },
  compliance: { required_disclosures: [], forbidden_phrases: [] },
  coaching: { talk_ratio_max: 0.65, monologue_seconds_max: 60, silence_seconds_max: 10, wpm_max: 190, wpm_min: 90 },
  script: { flow_id: null, version: 'published' },
  model: {
    model: 'default',
    fallback_model: '',
    temperature: 0.3,
    api: 'chat',
    priority: false,
    max_calls_per_minute: 20,
    speculative: false,
    deep_path: true,
    objection_similarity: 0.75,
  },
}

/** Of a profile, or of a session as of its beginning. */
export const profileSettings = ({ settings }: { settings: string }): ProfileSettings =>
  storedSettings(DEFAULT_SETTINGS, settings)

/** Maximum number of phrases in a profile, since each is searched for in every utterance, within some milliseconds. */
const MAX_PHRASES = 10_000

/** Number of phrases, triggers and examples of a profile, by the list that contains them. */
const phrasesIn = ({ stages, objections, alerts, compliance }: ProfileSettings): [string, number][] =>
  Object.entries({
    stages: stages.flatMap(({ checklist }) => checklist.flatMap(({ phrases }) => phrases)),
    objections: objections.flatMap(({ examples, triggers }) => [...examples, ...triggers]),
    alerts: alerts.flatMap(({ phrases }) => phrases),
    'compliance.required_disclosures': compliance.required_disclosures.flatMap(({ phrases }) => phrases),
  }).map(([param, phrases]) => [param, phrases.length])

/** Why these settings cannot work together, or null. */
export function settingsProblem(settings: ProfileSettings): Problem | null {
  const lists: [string, { key: string }[]][] = [
    ['stages', settings.stages],
    ...settings.stages.map((stage, i): [string, { key: string }[]] => [`stages[${i}].checklist`, stage.checklist]),
    ['objections', settings.objections],
    ['fields', settings.fields],
    ['alerts', settings.alerts],
    ['compliance.required_disclosures', settings.compliance.required_disclosures],
  ]
  for (const [param, items] of lists) {
    const i = items.findIndex((item, at) => items.findIndex(({ key }) => key === item.key) < at)
    if (i >= 0) return invalid(`${param}[${i}].key`, 'A key is in its list twice.')
  }
  for (const [i, { pattern }] of settings.fields.entries()) {
    const compiled = compileSpoken(pattern)
    if (typeof compiled === 'string') return invalid(`fields[${i}].pattern`, `The pattern is not valid: ${compiled}.`)
  }
  const phrases = phrasesIn(settings).sort(([, a], [, b]) => b - a)
  const all = phrases.reduce((sum, [, count]) => sum + count, 0)
  if (all > MAX_PHRASES) {
    const message = `A profile has at most ${MAX_PHRASES} phrases, triggers and examples in all, not ${all}.`
    return invalid(phrases[0]![0], message)
  }
  const { wpm_min, wpm_max } = settings.coaching
  if (wpm_min > wpm_max) return invalid('coaching.wpm_min', 'wpm_min is greater than wpm_max.')
  return rubricProblem(settings.qa_rubric, 'qa_rubric')
}
