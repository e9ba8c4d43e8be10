import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { BUNDLES, packages } from '../../build/parts.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HERE = join(ROOT, 'bench', 'engine')
/** Within the package, where what it imports is found. */
const OUT = join(ROOT, '.test-run', String(process.pid))

/**
 * `node --import tsx bench/engine/run.ts [options of measure.ts]`: `measure.ts` as one file, made as the product's are. Module by
 * module, as tsx loads it, the same code takes two to three times as long.
 */
await build({
  ...BUNDLES,
  splitting: false,
  entryPoints: [join(HERE, 'measure.ts')],
  outfile: join(OUT, 'measure.mjs'),
  define: { FLOOR_SOURCE: JSON.stringify(join(HERE, 'floor.c')) },
  plugins: [packages],
})
process.once('exit', () => rmSync(OUT, { recursive: true, force: true }))
const child = spawn(
  process.execPath,
  [...process.execArgv.filter(isForV8), join(OUT, 'measure.mjs'), ...process.argv.slice(2)],
  {
    stdio: 'inherit',
  },
)
const [code] = await once(child, 'exit')
process.exitCode = code ?? 1

/** `--cpu-prof` and the like are meant for what is measured. */
function isForV8(argument: string): boolean {
  return argument.startsWith('--cpu-prof')
}
