declare module '../jobs/kinds.ts' {
  interface JobPayloads {
    mail: MailJob
  }
}

/** What a job of kind `mail` carries: sealed, for there may be a link in it that is as good as a key. */
export interface MailJob {
  id: string
  /** The vault's; JSON of `to`, `subject` and `text`. */
  sealed: string
}
