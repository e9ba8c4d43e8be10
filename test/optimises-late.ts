/**
 * Loaded before all else by the processes of products that tests start. Control lives for seconds there, so that V8 optimises only what runs
 * fifteen times as often as it waits for by itself; media is optimised as it comes, for it cannot wait.
 */
import { setFlagsFromString } from 'node:v8'
import { OPTIMISES_LATE } from './worker-messages.ts'

if (process.argv[1]?.endsWith('/control/wiring/main.js')) setFlagsFromString(OPTIMISES_LATE)
