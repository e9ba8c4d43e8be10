/**
 * Bundles the test files to JavaScript for the test command, since a process that loads the product's TypeScript module by module takes
 * five times as long to start. A process loads a module that several files import only once, as if it were not bundled.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { BUNDLES, largePackages, packages, SCRIPTS } from '../build/parts.ts'
import { FORKED } from './plan.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Inside the repository, so that packages are found. Each run has a folder there, named by its process ID. */
const ALL_RUNS = join(root, '.test-run')
const PRODUCT = /^(codecs|control|media|sip)\//
/**
 * The `import.meta.url` of a module. A module of the product gets its URL in `dist/`, where its threads and processes are compiled; others
 * keep theirs.
 */
function urlOf(file: string): string {
  const path = relative(root, file)
  return pathToFileURL(PRODUCT.test(path) ? join(root, 'dist', path.replace(/\.ts$/, '.js')) : file).href
}

const urls: Plugin = {
  name: 'urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      // The build scripts contain the words `import.meta.url` as text for bundles, and only this process runs them.
      const isMaker = relative(root, path).startsWith('build/')
      return {
        contents: isMaker ? text : text.replaceAll('import.meta.url', JSON.stringify(urlOf(path))),
        loader: 'ts',
      }
    })
  },
}

/** Bundles files (paths relative to `test/`). Returns the folder in which they have the same paths; it is removed when this process ends. */
export async function bundle(paths: string[]): Promise<string> {
  removeLeftovers()
  const folder = join(ALL_RUNS, String(process.pid))
  const make = (form: typeof BUNDLES | typeof SCRIPTS, entries: string[], within: Plugin) =>
    build({
      ...form,
      entryPoints: entries.map(path => join(root, 'test', path)),
      outbase: join(root, 'test'),
      outdir: folder,
      plugins: [within, urls],
    })
  // Files that are started again and again, to be killed, are built like the product, so that they start as fast.
  const isForked = (path: string): boolean => FORKED.includes(path)
  await Promise.all([
    make(
      BUNDLES,
      paths.filter(path => !isForked(path)),
      largePackages,
    ),
    make(SCRIPTS, paths.filter(isForked), packages),
  ])
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Removes folders of runs that were killed. */
function removeLeftovers(): void {
  mkdirSync(ALL_RUNS, { recursive: true })
  for (const name of readdirSync(ALL_RUNS)) {
    if (!isRunning(Number(name))) rmSync(join(ALL_RUNS, name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
