import type { ErrorObject, ValidateFunction } from 'ajv'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Admission, type AdmissionParts, type Later } from '../admission.ts'
import type { Problem } from '../errors.ts'
import type { Route } from '../route.ts'
import { type OlderRoute, olderVersionsOf } from './older-versions.ts'
import { requestSchemas } from './openapi.ts'
import { type Query, typeQuery } from './query-string.ts'
import { loggedPath } from './request-log.ts'
import { compileSerializer } from './serialization.ts'
import { compileRequestValidator, validationProblem } from './validation.ts'

/** A part of a request, in the order in which they are checked. */
type Part = 'params' | 'body' | 'query'

/**
 * A route as it is served. What it needs is made at its first request: a control process that was killed must serve again at once, and few
 * of the operations are used.
 */
export class Operation {
  readonly route: Route
  /** Its path, with colons before its parameters. */
  readonly path: string
  readonly #parts: AdmissionParts
  #admission: Admission | undefined
  #validators: [Part, ValidateFunction][] | undefined
  #olderVersion: ((date: string) => OlderRoute | undefined) | undefined
  #loggedPath: ((params: unknown) => string) | undefined
  #serialize: ((answer: unknown) => string) | undefined

  constructor(route: Route, path: string, parts: AdmissionParts) {
    this.route = route
    this.path = path
    this.#parts = parts
  }

  admit(request: FastifyRequest, reply: FastifyReply): Later {
    this.#admission ??= new Admission(this.#parts, this.route)
    return this.#admission.admit(request, reply)
  }

  /** What is wrong with the parameters of a request; null: nothing. Values get the types of the schema, and defaults are filled in. */
  fault(request: FastifyRequest): Problem | null {
    this.#validators ??= validatorsOf(this.route)
    for (const [part, validate] of this.#validators) {
      if (part === 'query') typeQuery(request.query as Query, this.route.query)
      if (!validate(request[part])) return validationProblem((validate.errors ?? []) as ErrorObject[], part)
    }
    return null
  }

  /** The route in the older version of this date; undefined: it was the same. */
  olderVersion(date: string): OlderRoute | undefined {
    this.#olderVersion ??= olderVersionsOf(this.route)
    return this.#olderVersion(date)
  }

  loggedPath(params: unknown): string {
    this.#loggedPath ??= loggedPath(this.path)
    return this.#loggedPath(params)
  }

  /** The JSON of an answer in the current version. */
  serialize(answer: unknown): string {
    this.#serialize ??= compileSerializer(this.route.reply)
    return this.#serialize(answer)
  }
}

function validatorsOf(route: Route): [Part, ValidateFunction][] {
  const { params, body, querystring } = requestSchemas(route)
  return [
    ...(params === undefined ? [] : [['params', compileRequestValidator(params)] as [Part, ValidateFunction]]),
    ...(body === undefined ? [] : [['body', compileRequestValidator(body)] as [Part, ValidateFunction]]),
    ['query', compileRequestValidator(querystring)],
  ]
}
