/**
 * Starts what tests kill again and again: `main` of the file of its first argument, which sees only the others. A script has a code cache, made by
 * the first that lives for long enough.
 */
import { pathToFileURL } from 'node:url'
import { loadScript } from '../build/code-cache.ts'

/** By then a start has run what it runs. */
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
