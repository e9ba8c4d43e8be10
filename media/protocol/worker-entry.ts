import { availableParallelism } from 'node:os'

/** Options for `new Worker(url, { execArgv })`. */
export interface WorkerEntry {
  url: URL
  execArgv: string[]
}

/**
 * Flags of Node for the media process. A full garbage collection stops an audio thread for 8 ms, and calls that come and go caused one
 * every 15 s, so it happens only once a heap has doubled. V8 marks in helper threads, and the waiting thread polls for them. On a single
 * core a real-time audio thread that polls keeps the helpers from running (seen: for a second, without any call) until the system stops it,
 * so there are none. With more cores they help: without them calls were answered later.
 */
export const MEDIA_FLAGS: readonly string[] = [
  '--heap-growing-percent=100',
  ...(availableParallelism() === 1 ? ['--single-threaded-gc'] : []),
]

const isSource = import.meta.url.endsWith('.ts')

/**
 * The entry module of a thread or process, by its path below the root without extension (`ENTRIES` of `build/`). In `dist` it is
 * the built one. In the sources it is the TypeScript one, for which it registers tsx itself, because on Node 20 `--import tsx`
 * registers in main threads only.
 */
export function workerEntry(module: string): WorkerEntry {
  const root = import.meta.resolve('tandem/package.json')
  if (!isSource) return { url: new URL(`dist/${module}.js`, root), execArgv: [] }
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  return {
    url: new URL(`${module}.ts`, root),
    execArgv: ['--import', `data:text/javascript,import{register}from${tsx};register()`],
  }
}
