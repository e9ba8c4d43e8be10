/** What `new Worker(url, { execArgv })` needs. */
export interface WorkerEntry {
  url: URL
  execArgv: string[]
}

/**
 * The entry module `name` (without extension) beside the module `from` (its `import.meta.url`): the built one in `dist`, and
 * among the sources the TypeScript one, for which the thread registers tsx itself. (`--import tsx` registers in main threads only
 * on Node 20.)
 */
export function workerEntry(name: string, from: string): WorkerEntry {
  if (!from.endsWith('.ts')) return { url: new URL(`./${name}.js`, from), execArgv: [] }
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  return {
    url: new URL(`./${name}.ts`, from),
    execArgv: ['--import', `data:text/javascript,import{register}from${tsx};register()`],
  }
}
