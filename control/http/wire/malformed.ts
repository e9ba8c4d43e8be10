import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { newId } from '../../kernel/ids.ts'
import { CURRENT_VERSION } from '../../kernel/versions/current.ts'
import { ERRORS, envelope, type Problem, problem } from '../errors.ts'

/** Answers what is not HTTP, too long or incomplete, in the form of all other errors: it never becomes a request. Its connection is closed. */
export function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  if (socket.writable) socket.write(answerOf(problemOf(error.code), socket))
  socket.destroy(error)
}

function problemOf(code: string | undefined): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return problem('request_timeout', ERRORS.request_timeout.help)
  if (code === 'HPE_HEADER_OVERFLOW') return problem('headers_too_large', ERRORS.headers_too_large.help)
  return problem('request_malformed', ERRORS.request_malformed.help)
}

function answerOf(failure: Problem, { localAddress = '', localPort }: Socket): string {
  const id = newId('request')
  const host = localAddress.includes(':') ? `[${localAddress}]` : localAddress
  const body = JSON.stringify(envelope(failure, id, `http://${host}:${localPort}`))
  const { status } = ERRORS[failure.problem]
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Request-Id: ${id}`,
    `Service-Version: ${CURRENT_VERSION}`,
    'X-Content-Type-Options: nosniff',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
