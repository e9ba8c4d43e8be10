/**
 * Starts a process that tests kill again and again: calls `main` of the file in its first argument, which sees only the other arguments. A
 * bundled script has a code cache, which is written by the first process that lives long enough.
 */
import { pathToFileURL } from 'node:url'
import { loadScript } from '../build/code-cache.ts'

/** By then a process has executed what it needs to start, so that the cache contains it. */
const STARTED_MS = 500

interface Killable {
  main(): Promise<void>
}

const [path = ''] = process.argv.splice(2, 1)
if (path.endsWith('.cjs')) {
  const script = loadScript(path)
  void (script.exports as Killable).main()
  setTimeout(script.keepCode, STARTED_MS).unref()
} else {
  void ((await import(pathToFileURL(path).href)) as Killable).main()
}
