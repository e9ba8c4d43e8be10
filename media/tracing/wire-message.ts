import type { Transport } from '../../sip/agent-types.ts'

/** Source or destination of a packet. */
export interface Place {
  host: string
  port: number
}

/** A SIP message as it passed our door. */
export interface WireMessage {
  /** Since 1970 [ms], with fractions. */
  at: number
  isSent: boolean
  transport: Transport
  local: Place
  remote: Place
  /** A Latin-1 character for each octet. */
  text: string
}

const CALL_ID = /^(?:call-id|i)[ \t]*:[ \t]*([^\r\n]*[^\r\n \t])/im

/** The Call-ID of a message that nobody has looked at yet; null: it has none. */
export const callIdOf = (text: string): string | null => CALL_ID.exec(text)?.[1] ?? null
