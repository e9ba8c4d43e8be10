import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { BUNDLES } from '../build/parts.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Within the package, so that Node finds the packages that the bundles import. */
const OUT = join(ROOT, '.test-run', `load-${process.pid}`)
const made = new Set<string>()

/**
 * Bundles a load into one file for each of its threads, as the product is bundled. Loaded module by module by tsx, it would use more CPU and send
 * later. @returns the file of its main thread
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
