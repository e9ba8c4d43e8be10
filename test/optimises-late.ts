/**
 * Loaded before all else by the processes of products that tests start. Control lives for seconds there, so that V8 optimises only what runs
 * fifteen times as often as it waits for by itself; media is optimised as it comes, for it cannot wait.
 */
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { OPTIMISES_LATE } from './worker-messages.ts'

const entry = process.argv[1] ?? ''
/** Control listens for it once it has loaded its code, which V8 takes from a cache only with the flags that it was made with. */
const LOADED = 'SIGTERM'

/** The first control of a build makes the cache. */
const hasCache = (): boolean => readdirSync(dirname(entry)).some(name => name.endsWith('.cache'))

if (entry.endsWith('/control/wiring/main.js') && hasCache()) {
  process.on('newListener', event => {
    if (event === LOADED) setFlagsFromString(OPTIMISES_LATE)
  })
}
