import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { BUNDLES, packages } from '../../build/parts.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Within the package, so that Node finds the packages that the bundle imports; by process, as the bundles of tests. */
const OUT = join(ROOT, '.test-run', String(process.pid))

/** Bundles the serving process into one file, as `npm run build` does with the product: tsx, which runs the bench, would slow it down. */
export async function bundledServer(): Promise<string> {
  const outfile = join(OUT, 'server.mjs')
  await build({
    ...BUNDLES,
    entryPoints: [join(ROOT, 'bench', 'api', 'server.ts')],
    outfile,
    splitting: false,
    sourcemap: false,
    plugins: [packages],
  })
  process.once('exit', () => rmSync(OUT, { recursive: true, force: true }))
  return outfile
}
