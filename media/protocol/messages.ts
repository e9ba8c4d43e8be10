import type { CommandName } from './commands.ts'
import type { MediaEvent } from './events.ts'

/** A longer message closes the channel [bytes]. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024

/**
 * The first elements of a list: as many as fit into a message, beside all else that it says. A longer one would close the channel, for everybody's
 * calls.
 */
export function fitting<T>(elements: readonly T[]): T[] {
  let bytes = 0
  const end = elements.findIndex(element => {
    bytes += Buffer.byteLength(JSON.stringify(element)) + 1
    return bytes > MAX_MESSAGE_BYTES / 2
  })
  return elements.slice(0, end < 0 ? elements.length : end)
}

export type ToMedia =
  /** `bootId` and `lastSeq`: what control has committed of the media process it last spoke to. */
  | { type: 'hello'; version: number; bootId: string | null; lastSeq: number }
  | { type: 'request'; id: number; name: CommandName; body: unknown }
  | { type: 'ack'; seq: number }

export type FromMedia =
  /** `bootId` differs for each start of the media process; `eventsLost` counts what the bounded event buffer had to drop. */
  | { type: 'hello'; version: number; bootId: string; eventsLost: number }
  | { type: 'reply'; id: number; body: unknown }
  | { type: 'event'; seq: number; event: MediaEvent }

const LENGTH_BYTES = 4

/** One message as bytes of the channel. */
export function encodeMessage(message: ToMedia | FromMedia): Buffer {
  const json = Buffer.from(JSON.stringify(message), 'utf8')
  const framed = Buffer.allocUnsafe(LENGTH_BYTES + json.length)
  framed.writeUInt32BE(json.length, 0)
  json.copy(framed, LENGTH_BYTES)
  return framed
}

/** Cuts the bytes of the channel into messages again. */
export class MessageReader {
  #pending: Buffer = Buffer.alloc(0)

  /** The messages completed by `bytes`, or `{ error }` after which the channel must be closed. */
  read(bytes: Buffer): { messages: Record<string, unknown>[] } | { error: string } {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    const messages: Record<string, unknown>[] = []
    let at = 0
    while (this.#pending.length - at >= LENGTH_BYTES) {
      const length = this.#pending.readUInt32BE(at)
      if (length > MAX_MESSAGE_BYTES) return { error: `message of ${length} bytes` }
      if (this.#pending.length - at - LENGTH_BYTES < length) break
      const message = parseObject(this.#pending.toString('utf8', at + LENGTH_BYTES, at + LENGTH_BYTES + length))
      if (message === null) return { error: 'not a JSON object' }
      messages.push(message)
      at += LENGTH_BYTES + length
    }
    this.#pending = this.#pending.subarray(at)
    return { messages }
  }
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
