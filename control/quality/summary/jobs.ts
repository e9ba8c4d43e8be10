import type { Tenant } from '../../kernel/tenancy.ts'

declare module '../../kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'call.review': ReviewJob
    'call.judge': JudgeJob
  }
}

/** A call is over: what was said in it is made findable, counted, summed up, and evaluated where it is in the sample. */
export interface ReviewJob {
  tenant: Tenant
  call_id: string
  /** Somebody wants the summary again, and nothing else. */
  only?: 'summary'
}

/** Criteria of an evaluation wait for a model. */
export interface JudgeJob {
  tenant: Tenant
  evaluation_id: string
}
