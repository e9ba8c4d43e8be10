import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { BUNDLES, packages } from '../../build/parts.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Within the package, where what it imports is found; named by the process, as the bundles of tests are. */
const OUT = join(ROOT, '.test-run', String(process.pid))

/** The served process as one file, made as `npm run build` makes the product's: what runs the bench itself would slow it down. */
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
