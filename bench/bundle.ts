import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { BUNDLES } from '../build/parts.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Within the package, where what it imports is found. */
const OUT = join(ROOT, '.test-run', `load-${process.pid}`)
const made = new Set<string>()

/**
 * A load as a file for each of its threads, made as the product's are. Module by module, as tsx loads it, it takes more of its core, and is later
 * for that. @returns the file of its main thread
 */
export function bundleLoad(folder: string, main: string, threads: readonly string[] = []): string {
  const outdir = join(OUT, folder)
  const file = join(outdir, `${main}.mjs`)
  if (made.has(file)) return file
  made.add(file)
  const entryPoints = [main, ...threads].map(name => join(ROOT, 'bench', folder, `${name}.ts`))
  buildSync({ ...BUNDLES, packages: 'external', entryPoints, outdir, outExtension: { '.js': '.mjs' } })
  if (made.size === 1) process.once('exit', () => rmSync(OUT, { recursive: true, force: true }))
  return file
}
