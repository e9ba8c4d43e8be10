import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

/**
 * A long answer, a page at a time. SQLite never yields to the event loop by itself. Between two pages everything else gets its turn;
 * otherwise a list of a million would block calls for seconds.
 */
export const paged = (pages: AsyncIterable<string | Buffer>): Readable =>
  Readable.from(inTurns(pages), { objectMode: false })

async function* inTurns(pages: AsyncIterable<string | Buffer>): AsyncGenerator<string | Buffer> {
  for await (const page of pages) {
    yield page
    await setImmediate()
  }
}
