import { threadsOfTests } from '../../fakes/engine-group.ts'

/**
 * Own process: it runs the unchanged tests of legs, rooms, pauses, keys, recordings and transcripts with the legs of a room on two engine threads,
 * alternately.
 */
threadsOfTests.count = 2

await import('./engine.test.ts')
await import('./engine-pause.test.ts')
await import('./keys/type-ahead.test.ts')
await import('./pause-keys.test.ts')
await import('./pause-sinks.test.ts')
await import('./payment-line.test.ts')
await import('./engine-faults.test.ts')
await import('../recordings/recorded-call.test.ts')
await import('../speech/both-sides.test.ts')
await import('../speech/listening.test.ts')
await import('./answering.test.ts')
