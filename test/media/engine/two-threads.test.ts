import { threadsOfTests } from '../../fakes/engine-group.ts'

/**
 * Own process: what is promised of legs, rooms, pauses, keys and recordings holds when the legs of a room are on two engine threads, each
 * next one on the other. The same tests, with nothing changed.
 */
threadsOfTests.count = 2

await import('./engine.test.ts')
await import('./engine-pause.test.ts')
await import('./pause-keys.test.ts')
await import('./payment-line.test.ts')
await import('./engine-faults.test.ts')
await import('../recordings/recorded-call.test.ts')
