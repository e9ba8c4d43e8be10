import { readFileSync } from 'node:fs'

/** Where the package lies, whether we run from the sources or from `dist`: a folder, as a URL with a slash at its end. */
export const PACKAGE_ROOT = new URL('.', import.meta.resolve('tandem/package.json'))

export const VERSION: string = JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')).version
