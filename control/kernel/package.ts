import { readFileSync } from 'node:fs'

/** Location of the package, for sources and for `dist`: a folder, as a URL with a trailing slash. */
export const PACKAGE_ROOT = new URL('.', import.meta.resolve('tandem/package.json'))

export const VERSION: string = JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')).version
