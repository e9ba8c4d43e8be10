/**
 * Loaded first by the processes of products that tests start. Control lives only seconds there, so V8 optimises only code that runs fifteen
 * times as often as by default; media is optimised as usual, since its audio cannot wait. Speech recognition hears only some sentences, and
 * optimising its WebAssembly, with functions of thousands of lines, would take longer than recognising them.
 */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { cacheOf } from '../build/code-cache.ts'
import { OPTIMISES_LATE } from './worker-messages.ts'

const entry = process.argv[1] ?? ''
/** Bytes of code that a function runs before V8 optimises it; the default is 1.8 million. */
const EAR_OPTIMISES_LATE = '--wasm-tiering-budget=300000000'
/**
 * Control adds a listener for it once its code is loaded. Before that the flags must not change: V8 accepts a code cache only with the
 * flags that it was made with.
 */
const LOADED = 'SIGTERM'

/** Whether there is a code cache; the first control process of a build writes it. */
const hasCache = (): boolean =>
  readdirSync(dirname(entry)).some(name => name.endsWith('.cjs') && existsSync(cacheOf(join(dirname(entry), name))))

if (entry.endsWith('/control/wiring/main.js') && hasCache()) {
  process.on('newListener', event => {
    if (event === LOADED) setFlagsFromString(OPTIMISES_LATE)
  })
}

if (entry.endsWith('/media/speech/speech-process.js')) setFlagsFromString(EAR_OPTIMISES_LATE)
