/**
 * Every kind of job and what it carries: IDs, not rows, for what it finds when it runs may have changed. A payload is JSON and
 * outlives a release: fields are added as optional, and none changes its meaning.
 */
// biome-ignore lint/suspicious/noEmptyInterface: each feature adds its line, and a test its own kind by declaration merging
export interface JobPayloads {}

export type JobKind = keyof JobPayloads & string
