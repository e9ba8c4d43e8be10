import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { BUNDLES, packages } from '../../build/parts.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HERE = join(ROOT, 'bench', 'engine')
/** Within the package, so that Node finds the packages that the bundle imports. */
const OUT = join(ROOT, '.test-run', String(process.pid))

/**
 * `node --import tsx bench/engine/run.ts [options of measure.ts]`: runs `measure.ts` in one file, bundled as the product is. Loaded module by module
 * by tsx, the same code takes two to three times as long.
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

/** Whether an option of Node, such as `--cpu-prof` or `--perf-prof`, is meant for the measured process. */
function isForV8(argument: string): boolean {
  return argument.startsWith('--cpu-prof') || argument.startsWith('--perf-')
}
