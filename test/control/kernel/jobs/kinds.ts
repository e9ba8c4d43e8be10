/** The kinds of the tests of jobs. */
declare module '../../../../control/kernel/jobs/kinds.ts' {
  interface JobPayloads {
    'test.note': { text: string }
    'test.other': { text: string }
  }
}

export type Note = { text: string }
