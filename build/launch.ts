/** What an entry with a code cache is in `dist/`: it runs the `main` of its script. */
import { fileURLToPath } from 'node:url'
import { loadScript } from './code-cache.ts'

/** The name of the script beside it, put in by the build. */
declare const SCRIPT: string

const script = loadScript(fileURLToPath(new URL(SCRIPT, import.meta.url)))
await (script.exports as { main(): Promise<void> }).main()
script.keepCode()
