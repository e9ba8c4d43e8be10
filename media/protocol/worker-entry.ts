/** What `new Worker(url, { execArgv })` needs. */
export interface WorkerEntry {
  url: URL
  execArgv: string[]
}

const isSource = import.meta.url.endsWith('.ts')

/**
 * The module that a thread or a process begins with, its path below the root without extension (`ENTRIES` of `build/`): the built
 * one in `dist`, and among the sources the TypeScript one, for which it registers tsx itself. (`--import tsx` registers in main
 * threads only on Node 20.)
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
