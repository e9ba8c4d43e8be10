/**
 * Every kind of job and what it carries: IDs, not rows, for what it finds when it runs may have changed. A payload is JSON and
 * outlives a release: fields are added as optional, and none changes its meaning. Each noun adds its own (`declare module`).
 */
// biome-ignore lint/suspicious/noEmptyInterface: merged with what the nouns declare
export interface JobPayloads {}

export type JobKind = keyof JobPayloads & string
