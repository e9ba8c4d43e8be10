import { version20260501 } from './2026-05-01.ts'
import { version20261101 } from './2026-11-01.ts'
import type { ApiVersion } from './version.ts'

/** Every supported version, oldest first; the last is the current one. A new version is its file and its line here. */
export const API_VERSIONS: readonly ApiVersion[] = [version20260501, version20261101]
