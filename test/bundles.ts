/**
 * The test files as plain JavaScript, for the test command: a process that loads the product from TypeScript, module by module,
 * takes five times as long to begin. Modules that several files import are loaded once by a process, as if they were not bundled.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { BUNDLES, largePackages, packages, SCRIPTS } from '../build/parts.ts'
import { FORKED } from './plan.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Below the root, so that packages are found; a run has a folder of its own there, named by its process. */
const ALL_RUNS = join(root, '.test-run')
const PRODUCT = /^(codecs|control|media|sip)\//
/** A module of the product believes to be a built one, whose threads need no compiler; others are where their source is. */
function urlOf(file: string): string {
  const path = relative(root, file)
  return pathToFileURL(PRODUCT.test(path) ? join(root, 'dist', path.replace(/\.ts$/, '.js')) : file).href
}

const urls: Plugin = {
  name: 'urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      // Only the process that makes the bundles has these words, as a text for them.
      const isMaker = relative(root, path).startsWith('build/')
      return {
        contents: isMaker ? text : text.replaceAll('import.meta.url', JSON.stringify(urlOf(path))),
        loader: 'ts',
      }
    })
  },
}

/** Bundles files, their paths below `test/`, for as long as this process runs; the folder in which they have the same paths. */
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
  // What is started again and again, to be killed, begins as soon as the product.
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

/** A run that was killed has left its folder. */
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
