import { type Logger, pino } from 'pino'
import type { LogLevel } from './config.ts'

const HIDDEN = ['authorization', 'secret', 'pin', 'moderator_pin', 'password', 'token', 'digits', 'key']

/** JSON lines on stderr; what must not be read there is blotted out wherever it may have slipped in. */
export function makeLog(level: LogLevel, name: string): Logger {
  const paths = HIDDEN.flatMap(word => [word, `*.${word}`, `*.*.${word}`])
  return pino({ level, name, redact: { paths, censor: '(hidden)' } }, pino.destination({ fd: 2, sync: true }))
}
