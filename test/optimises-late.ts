/**
 * Loaded before all else by the processes of products that tests start. Control lives for seconds there, so that V8 optimises only what runs
 * fifteen times as often as it waits for by itself; media is optimised as it comes, for it cannot wait. The ear hears some sentences, and to
 * optimise its WebAssembly, functions of thousands of lines, takes longer than these do.
 */
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { OPTIMISES_LATE } from './worker-messages.ts'

const entry = process.argv[1] ?? ''
/** Of a function, in bytes of code that it runs: 1.8 million by itself. */
const EAR_OPTIMISES_LATE = '--wasm-tiering-budget=300000000'
/** Control listens for it once it has loaded its code, which V8 takes from a cache only with the flags that it was made with. */
const LOADED = 'SIGTERM'

/** The first control of a build makes the cache. */
const hasCache = (): boolean => readdirSync(dirname(entry)).some(name => name.endsWith('.cache'))

if (entry.endsWith('/control/wiring/main.js') && hasCache()) {
  process.on('newListener', event => {
    if (event === LOADED) setFlagsFromString(OPTIMISES_LATE)
  })
}

if (entry.endsWith('/media/speech/speech-process.js')) setFlagsFromString(EAR_OPTIMISES_LATE)
