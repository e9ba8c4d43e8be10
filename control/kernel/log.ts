import { type DestinationStream, type Logger, pino } from 'pino'
import type { LogLevel } from './config/values.ts'

const HIDDEN = ['authorization', 'secret', 'pin', 'moderator_pin', 'password', 'token', 'digits', 'key']

/** How much may wait for a terminal that is held (Ctrl-S); what comes beyond that is left out [bytes]. */
const MAX_WAITING_BYTES = 1024 * 1024
const terminal = () => pino.destination({ fd: 2, sync: false, maxLength: MAX_WAITING_BYTES })

/** Logs to `output`, otherwise to stderr, as JSON or for a terminal. Secrets are masked wherever they may occur. */
export async function makeLog(level: LogLevel, name: string, output: DestinationStream | null = null): Promise<Logger> {
  const paths = HIDDEN.flatMap(word => [word, `*.${word}`, `*.*.${word}`])
  const stream = process.stderr.isTTY
    ? (await import('pino-pretty')).default({ destination: terminal(), ignore: 'pid,hostname', singleLine: true })
    : pino.destination({ fd: 2, sync: true })
  return pino({ level, name, redact: { paths, censor: '(hidden)' } }, output ?? stream)
}
