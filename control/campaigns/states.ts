import { conflict, type Problem } from '../http/errors.ts'

export const CAMPAIGN_STATUSES = ['draft', 'running', 'paused', 'stopping', 'stopped', 'completed', 'archived'] as const
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number]

export const CONTACT_STATUSES = ['pending', 'calling', 'connected', 'completed', 'failed', 'excluded'] as const
export type ContactStatus = (typeof CONTACT_STATUSES)[number]

/** Statuses of a contact that is being called. */
export const ON_CALL: ContactStatus[] = ['calling', 'connected']

export type Verb = 'start' | 'pause' | 'resume' | 'stop' | 'archive'

/** The status after each verb; absent: refused. A stopping campaign lets its running calls finish. */
const NEXT: Record<CampaignStatus, Partial<Record<Verb, CampaignStatus>>> = {
  draft: { start: 'running', archive: 'archived' },
  running: { pause: 'paused', stop: 'stopping' },
  paused: { resume: 'running', stop: 'stopping' },
  stopping: {},
  stopped: { start: 'running', archive: 'archived' },
  completed: { start: 'running', archive: 'archived' },
  archived: {},
}

/** The status after the verb, or why it is refused. */
export function nextStatus(status: CampaignStatus, verb: Verb): CampaignStatus | Problem {
  const next = NEXT[status][verb]
  if (next !== undefined) return next
  return conflict(status === 'archived' ? 'archived' : `campaign_${status}`, `The campaign is ${status}.`)
}

/** 409 for any change of an archived campaign. */
export const archivedProblem = (status: CampaignStatus): Problem | null =>
  status === 'archived' ? conflict('archived', 'The campaign is archived.') : null
