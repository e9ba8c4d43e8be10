/** How long records of calls and campaign contacts are kept [days]; null: until deleted. JSON of `organisations.retention`. */
export interface Retention {
  recordings_days: number | null
  transcripts_days: number | null
  voicemails_days: number | null
  calls_days: number | null
  summaries_days: number | null
  evaluations_days: number | null
  /** Counted from the end of the campaign. */
  campaign_contacts_days: number | null
}

const KEPT_FOR_EVER: Retention = {
  recordings_days: null,
  transcripts_days: null,
  voicemails_days: null,
  calls_days: null,
  summaries_days: null,
  evaluations_days: null,
  campaign_contacts_days: null,
}

export const retentionOf = (json: string | null): Retention => ({
  ...KEPT_FOR_EVER,
  ...(json === null ? {} : (JSON.parse(json) as Partial<Retention>)),
})
