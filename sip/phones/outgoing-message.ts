import type { AgentCore } from '../agent-core.ts'
import type { TextMessage } from '../agent-types.ts'
import { newOutsideSender, sendOutside } from '../outside-request.ts'

/** Sends a text to a phone (RFC 3428 §4); `messageDone` reports the result once: a status, or 408 or 503 for silence. */
export function sendMessage(core: AgentCore, message: TextMessage, now: number): void {
  const { messageId, to, from, target, route, text } = message
  const sender = newOutsideSender(core, [target], null)
  const body = { type: 'text/plain;charset=UTF-8', bytes: Buffer.from(text, 'utf8') }
  const request = { method: 'MESSAGE', uri: to, route, from, to, headers: () => [], body } as const
  const done = (sipCode: number): void => core.messageDone({ messageId, sipCode })
  const user = {
    response: ({ status }: { status: number }): void => done(status),
    failed: (cause: 'timeout' | 'unreachable'): void => done(cause === 'timeout' ? 408 : 503),
  }
  sendOutside(core, sender, request, user, now)
}
