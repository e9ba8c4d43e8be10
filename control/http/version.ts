/** The API version that new keys are pinned to. */
export const CURRENT_VERSION = '2026-11-01'

/** Every version that exists, oldest first. */
export const VERSIONS: readonly string[] = [CURRENT_VERSION]
