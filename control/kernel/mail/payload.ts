declare module '../jobs/kinds.ts' {
  interface JobPayloads {
    mail: MailJob
  }
}

/** Payload of a job of kind `mail`: sealed, because a link in it may be as good as a key. */
export interface MailJob {
  id: string
  /** The vault's; JSON of `to`, `subject` and `text`. */
  sealed: string
}
