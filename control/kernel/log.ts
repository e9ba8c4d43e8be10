import { type Logger, pino } from 'pino'
import type { LogLevel } from './config.ts'

const HIDDEN = ['authorization', 'secret', 'pin', 'moderator_pin', 'password', 'token', 'digits', 'key']

/** Lines on stderr, JSON but for a terminal's reader; what must not be read there is blotted out wherever it may have slipped in. */
export async function makeLog(level: LogLevel, name: string): Promise<Logger> {
  const paths = HIDDEN.flatMap(word => [word, `*.${word}`, `*.*.${word}`])
  const stream = process.stderr.isTTY
    ? (await import('pino-pretty')).default({ destination: 2, sync: true, ignore: 'pid,hostname', singleLine: true })
    : pino.destination({ fd: 2, sync: true })
  return pino({ level, name, redact: { paths, censor: '(hidden)' } }, stream)
}
