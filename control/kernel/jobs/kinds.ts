/**
 * Every kind of job with its payload: IDs, not rows, since the rows may have changed when it runs. A payload is JSON and
 * outlives a release: new fields are optional, and no field changes its meaning. Each noun adds its own (`declare module`).
 */
// biome-ignore lint/suspicious/noEmptyInterface: merged with what the nouns declare
export interface JobPayloads {}

export type JobKind = keyof JobPayloads & string
