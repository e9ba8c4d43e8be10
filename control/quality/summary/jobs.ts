import type { Tenant } from '../../kernel/tenancy.ts'

declare module '../../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'call.review': ReviewJob
    'call.judge': JudgeJob
  }
}

/** A call is over: its words are indexed, counted, summarised and, if it is in the sample, evaluated. */
export interface ReviewJob {
  tenant: Tenant
  call_id: string
  /** Only the summary is to be made again. */
  only?: 'summary'
}

/** Criteria of an evaluation wait for a model. */
export interface JudgeJob {
  tenant: Tenant
  evaluation_id: string
}
