import { Readable } from 'node:stream'
import type { RawAnswer } from '../route.ts'

/** The content type of Server-Sent Events (HTML Living Standard, "Server-sent events"). */
export const EVENT_STREAM = 'text/event-stream'

/** A comment carries no data: it shows that the stream is alive. Clients still take its `id` as the last one. */
export type StreamEvent = { event: string; data: object; id?: string } | { comment: string; id?: string }

/** Whether an `Accept` header asks for an event stream. */
export const wantsEventStream = (accept: string | string[] | undefined): boolean =>
  String(accept ?? '')
    .split(',')
    .some(part => part.split(';', 1)[0]?.trim().toLowerCase() === EVENT_STREAM)

/**
 * An answer of Server-Sent Events. `onClose` is called when everything was sent or the client has gone. The generator is then ended as soon
 * as its pending await settles.
 */
export function eventStream(events: AsyncGenerator<StreamEvent, void>, onClose: () => void): RawAnswer {
  const raw = Readable.from(lines(events), { objectMode: false, highWaterMark: 16 * 1024 })
  // 'close' would be too late: it waits for the generator, which may wait for something that only `onClose` releases.
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
      // A connection kept open after its stream would delay the close of the server.
      connection: 'close',
    },
  }
}

/** JSON contains no line breaks, so each event's data is one line. */
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
