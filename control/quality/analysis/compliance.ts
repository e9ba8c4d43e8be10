import { wordsOf } from '../../copilot/words/fold.ts'
import { anySaid } from '../../copilot/words/phrases.ts'
import type { Conversation, Line } from './conversation.ts'
import { isContent, plainWords, stemOf } from './words.ts'

/** Where something was said. */
export const evidenceOf = ({ id, participantId, text, startMs, endMs }: Line) => ({
  segment_id: id,
  participant_id: participantId,
  text,
  start_ms: startMs,
  end_ms: endMs,
})
type Evidence = ReturnType<typeof evidenceOf>

/** A disclosure, or an item of a profile's checklist. */
export interface Disclosure {
  key: string
  label: string
  is_said: boolean
  /** Where it was said; null: it was not, or only the copilot's session has heard it. */
  said: Evidence | null
}

export interface Forbidden {
  /** The phrase itself. */
  key: string
  reason: string
  severity: string
  said: Evidence[]
}

export interface Objection {
  key: string
  label: string
  said: Evidence
  /** The agent's next words; null: none. */
  followed_by: Evidence | null
  /** Whether the agent's next words resemble the library's answer. */
  answered: boolean
}

/** Minimum share of the library's answer that the agent must have said. */
const ANSWERED_SHARE = 0.3
/** Minimum share of an example's content words by which it is recognised. */
const EXAMPLE_SHARE = 0.75

type Said = Pick<Conversation, 'lines' | 'profile' | 'heard'>

const byAgent = ({ side }: Line): boolean => side === 'agent' || side === 'product'

export const saidBy = (lines: readonly Line[], phrases: readonly string[]): Line | undefined =>
  lines.find(line => holdsAny(line, phrases))

/** Whether a line contains one of these phrases, by the copilot's rules: inflected, slightly misheard, or with a word or two in between. */
export const holdsAny = ({ text }: Line, phrases: readonly string[]): boolean =>
  phrases.length > 0 && anySaid(wordsOf(text), phrases) !== null

/** Announcements of the product in the agent's place count too. */
export function disclosuresIn({ lines, profile, heard }: Said): Disclosure[] {
  const own = lines.filter(byAgent)
  return (profile?.settings.compliance.required_disclosures ?? []).map(({ key, label, text, phrases }) => {
    const line = saidBy(own, phrases.length === 0 ? [text] : phrases)
    const said = line === undefined ? null : evidenceOf(line)
    return { key, label, is_said: heard?.disclosures.get(key) ?? said !== null, said }
  })
}

export function forbiddenIn({ lines, profile }: Said): Forbidden[] {
  const own = lines.filter(({ side }) => side === 'agent')
  return (profile?.settings.compliance.forbidden_phrases ?? []).flatMap(({ phrase, reason, severity }) => {
    const said = own.filter(line => holdsAny(line, [phrase])).map(evidenceOf)
    return said.length === 0 ? [] : [{ key: phrase, reason, severity, said }]
  })
}

export const checklistIn = ({ lines, profile, heard }: Said): Disclosure[] =>
  (profile?.settings.stages ?? [])
    .flatMap(({ key: stage, checklist }) => checklist.map(item => ({ ...item, stage })))
    .filter(({ phrases, key, stage }) => phrases.length > 0 || heard?.items.get(`${stage}/${key}`) === true)
    .map(({ key, label, stage, phrases }) => {
      const line = saidBy(lines.filter(byAgent), phrases)
      const said = line === undefined ? null : evidenceOf(line)
      return { key, label, is_said: heard?.items.get(`${stage}/${key}`) ?? said !== null, said }
    })

/** Each objection of the library where it was first raised, with what followed it. */
export function objectionsIn({ lines, profile }: Said): Objection[] {
  return (profile?.settings.objections ?? []).flatMap(({ key, label, triggers, examples, response }): Objection[] => {
    const at = lines.findIndex(
      line => line.side === 'customer' && (holdsAny(line, triggers) || examples.some(one => isLike(line.stems, one))),
    )
    const line = lines[at]
    if (line === undefined) return []
    const next = lines.slice(at + 1).find(({ side }) => side === 'agent')
    return [
      {
        key,
        label,
        said: evidenceOf(line),
        followed_by: next === undefined ? null : evidenceOf(next),
        answered: next !== undefined && shareOf(next.stems, response) >= ANSWERED_SHARE,
      },
    ]
  })
}

const isLike = (stems: readonly string[], example: string): boolean => shareOf(stems, example) >= EXAMPLE_SHARE

/** Share of a text's content words that are among these stems; 0 if it has none. */
function shareOf(stems: readonly string[], text: string): number {
  const wanted = [...new Set(plainWords(text).filter(isContent).map(stemOf))]
  return wanted.length === 0 ? 0 : wanted.filter(stem => stems.includes(stem)).length / wanted.length
}
