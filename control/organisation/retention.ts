const KINDS = [
  'recordings_days',
  'transcripts_days',
  'voicemails_days',
  'calls_days',
  'summaries_days',
  'evaluations_days',
  'campaign_contacts_days',
] as const

/** How long records of calls and campaign contacts are kept [days]; null: until deleted. JSON of `organisations.retention`. */
export type Retention = Record<(typeof KINDS)[number], number | null>

export const retentionOf = (json: string | null): Retention => ({
  ...(Object.fromEntries(KINDS.map(kind => [kind, null])) as Retention),
  ...(json === null ? {} : (JSON.parse(json) as Partial<Retention>)),
})
