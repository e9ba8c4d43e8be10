import { API_VERSIONS } from './all.ts'

/** The dates of the supported versions, oldest first. */
export const VERSIONS: readonly string[] = API_VERSIONS.map(version => version.date)

/** The API version that new keys are pinned to, and the only one that handlers and schemas know. */
export const CURRENT_VERSION = VERSIONS.at(-1)!
