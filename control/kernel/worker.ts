import { Worker, type WorkerOptions } from 'node:worker_threads'
import { PACKAGE_ROOT } from './package.ts'

const isSource = import.meta.url.endsWith('.ts')

/**
 * A thread that begins with a module, its path below the root without extension (`ENTRIES` of `build/`): the built one in `dist`,
 * and among the sources the TypeScript one, for which the thread registers tsx itself.
 */
export function startWorker(module: string, options: WorkerOptions = {}): Worker {
  if (!isSource) return new Worker(new URL(`dist/${module}.js`, PACKAGE_ROOT), options)
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  return new Worker(new URL(`${module}.ts`, PACKAGE_ROOT), {
    ...options,
    execArgv: ['--import', `data:text/javascript,import{register}from${tsx};register()`],
  })
}
