import type { FastifyReply, FastifyRequest } from 'fastify'
import { ERRORS, envelope, type Problem, problem } from './errors.ts'

/** The prefix of the operations' paths. */
export const OPERATIONS = '/v1'

/** Sends an error of the catalogue. */
export function sendProblem(request: FastifyRequest, reply: FastifyReply, failure: Problem): FastifyReply {
  if (failure.retryAfterS !== undefined) reply.header('Retry-After', String(failure.retryAfterS))
  if (failure.headers !== undefined) reply.headers(failure.headers)
  // RFC 9110 §15.5.2: the scheme that would be accepted.
  if (ERRORS[failure.problem].status === 401) reply.header('WWW-Authenticate', 'Bearer')
  request.failure = failure.problem
  const body = envelope(failure, request.id, baseUrlOf(request))
  return sendText(reply, ERRORS[failure.problem].status, JSON.stringify(body))
}

/** The base of links to our own pages, as the client addresses us. */
export const baseUrlOf = (request: FastifyRequest): string => `${request.protocol}://${request.host || 'localhost'}`

export const asItIs = (payload: unknown): string => payload as string

export const sendText = (reply: FastifyReply, status: number, json: string): FastifyReply =>
  reply.code(status).header('Content-Type', 'application/json; charset=utf-8').serializer(asItIs).send(json)

export function pathOf({ url }: FastifyRequest): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

/** `/v1/calls/` is neither the list of calls nor a call. */
export const hasEmptyPart = (path: string): boolean => path.endsWith('/') || path.includes('//')

export const EMPTY_PART =
  'A part of the path is empty. For a list, remove the trailing slash; for one object, its ID is missing.'

export const NOT_JSON = problem('invalid_json', 'Send the body as JSON with "Content-Type: application/json".')
