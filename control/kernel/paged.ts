import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

/**
 * A long answer, a page at a time. What comes from SQLite never waits for the loop by itself: between two pages everybody else has their turn, where
 * a list of a million would hold up calls for seconds.
 */
export const paged = (pages: AsyncIterable<string | Buffer>): Readable =>
  Readable.from(inTurns(pages), { objectMode: false })

async function* inTurns(pages: AsyncIterable<string | Buffer>): AsyncGenerator<string | Buffer> {
  for await (const page of pages) {
    yield page
    await setImmediate()
  }
}
