import { Readable } from 'node:stream'
import type { RawAnswer } from '../route.ts'

/** The content type of Server-Sent Events (HTML Living Standard, "Server-sent events"). */
export const EVENT_STREAM = 'text/event-stream'

/** A comment is read by nobody: it shows that the stream is alive. Its `id` is taken for the last one all the same. */
export type StreamEvent = { event: string; data: object; id?: string } | { comment: string; id?: string }

/** Whether an `Accept` header asks for an event stream. */
export const wantsEventStream = (accept: string | string[] | undefined): boolean =>
  String(accept ?? '')
    .split(',')
    .some(part => part.split(';', 1)[0]?.trim().toLowerCase() === EVENT_STREAM)

/**
 * An answer of Server-Sent Events. `onClose` is called when all was sent or the client has gone; the generator is then returned
 * from as soon as what it awaits is settled.
 */
export function eventStream(events: AsyncGenerator<StreamEvent, void>, onClose: () => void): RawAnswer {
  const raw = Readable.from(lines(events), { objectMode: false, highWaterMark: 16 * 1024 })
  // 'close' would come too late: it waits for the generator, which may wait for what only `onClose` gives up.
  const destroy = raw._destroy.bind(raw)
  raw._destroy = (error, done) => {
    onClose()
    destroy(error, done)
  }
  return {
    raw,
    status: 200,
    headers: {
      'content-type': EVENT_STREAM,
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      // Kept open beyond its stream it would hold up a server that closes.
      connection: 'close',
    },
  }
}

/** JSON has no line ends of its own, so that each event's data is one line. */
async function* lines(events: AsyncGenerator<StreamEvent, void>): AsyncGenerator<Buffer, void> {
  for await (const one of events) {
    yield Buffer.from(`${textOf(one)}\n\n`)
  }
}

function textOf(one: StreamEvent): string {
  const id = one.id === undefined ? '' : `id: ${one.id}\n`
  if ('comment' in one) return `${id}: ${one.comment}`
  return `${id}event: ${one.event}\ndata: ${JSON.stringify(one.data)}`
}
