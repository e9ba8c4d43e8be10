import type { CommandName } from './commands.ts'
import type { MediaEvent } from './events.ts'

/** A longer message is sent in parts; a longer part closes the channel [bytes]. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024
/** Maximum number of parts of a message; more close the channel. */
const MAX_PARTS = 16

/** The first elements of a list, as many as fit into a message of one part beside its other content. */
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
  /**
   * `bootId` differs for each start of the media process; `eventsLost` counts what the bounded event buffer had to drop. `dialled`, for a control
   * process that knows another one: the legs whose INVITE may have left from earlier ones; absent: that is not known.
   */
  | { type: 'hello'; version: number; bootId: string; eventsLost: number; dialled?: readonly string[] }
  | { type: 'reply'; id: number; body: unknown }
  | { type: 'event'; seq: number; event: MediaEvent }
  /** The media process was told to end: it takes no new calls, and those that run go on for a while. */
  | { type: 'draining' }
  /** The media process ends as it was told to; nothing follows. */
  | { type: 'bye' }

const LENGTH_BYTES = 4
/** Flag in the length of a part after which another part of the same message follows. */
const CONTINUES = 0x8000_0000

/** One message as bytes of the channel. */
export function encodeMessage(message: ToMedia | FromMedia): Buffer {
  const json = Buffer.from(JSON.stringify(message), 'utf8')
  const parts = Math.ceil(json.length / MAX_MESSAGE_BYTES)
  const framed = Buffer.allocUnsafe(parts * LENGTH_BYTES + json.length)
  for (let n = 0; n < parts; n++) {
    const from = n * MAX_MESSAGE_BYTES
    const length = Math.min(MAX_MESSAGE_BYTES, json.length - from)
    const at = from + n * LENGTH_BYTES
    framed.writeUInt32BE(length + (n < parts - 1 ? CONTINUES : 0), at)
    json.copy(framed, at + LENGTH_BYTES, from, from + length)
  }
  return framed
}

/** Cuts the bytes of the channel into messages again. */
export class MessageReader {
  #pending: Buffer = Buffer.alloc(0)
  /** Parts of a message whose end has not arrived. */
  #parts: Buffer[] = []

  /** The messages completed by `bytes`, or `{ error }` after which the channel must be closed. */
  read(bytes: Buffer): { messages: Record<string, unknown>[] } | { error: string } {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    const messages: Record<string, unknown>[] = []
    let at = 0
    while (this.#pending.length - at >= LENGTH_BYTES) {
      const head = this.#pending.readUInt32BE(at)
      const isLast = head < CONTINUES
      const length = isLast ? head : head - CONTINUES
      if (length > MAX_MESSAGE_BYTES) return { error: `message of ${length} bytes` }
      if (this.#pending.length - at - LENGTH_BYTES < length) break
      const part = this.#pending.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length)
      at += LENGTH_BYTES + length
      if (!isLast) {
        if (this.#parts.push(part) >= MAX_PARTS) return { error: `message of more than ${MAX_PARTS} parts` }
        continue
      }
      const message = parseObject(this.#whole(part))
      if (message === null) return { error: 'not a JSON object' }
      messages.push(message)
    }
    this.#pending = this.#pending.subarray(at)
    return { messages }
  }

  #whole(last: Buffer): string {
    if (this.#parts.length === 0) return last.toString('utf8')
    const bytes = Buffer.concat([...this.#parts, last])
    this.#parts = []
    return bytes.toString('utf8')
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
