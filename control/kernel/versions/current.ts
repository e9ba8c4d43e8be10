import { API_VERSIONS } from './all.ts'

/** The dates of the versions that work, oldest first. */
export const VERSIONS: readonly string[] = API_VERSIONS.map(version => version.date)

/** The API version that new keys are pinned to; handlers and schemas know no other. */
export const CURRENT_VERSION = VERSIONS.at(-1)!
