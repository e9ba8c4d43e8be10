import { availableParallelism } from 'node:os'

/** Options for `new Worker(url, { execArgv })`. */
export interface WorkerEntry {
  url: URL
  execArgv: string[]
}

/**
 * Flags of Node for the media process. All garbage is collected only once a heap has doubled: that stops a thread of audio for 8 ms, and calls that come
 * and go had it happen every 15 s. V8 marks what is alive in threads of its own, and the thread that waits for them asks again and again. A real-time
 * thread of audio that does so on the only core keeps them from it (seen: a second long, without any call), until the system stops it. Where there are
 * more cores they help: without them calls were answered later.
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
