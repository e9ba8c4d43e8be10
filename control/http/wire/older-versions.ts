import type { ErrorObject } from 'ajv'
import { API_VERSIONS } from '../../kernel/versions/all.ts'
import type { ApiVersion } from '../../kernel/versions/version.ts'
import type { Problem } from '../errors.ts'
import type { Route } from '../route.ts'
import { olderOperation } from '../versions/translate.ts'
import { compileValidator, validationProblem } from './validation.ts'

/** A route in an older version. */
export interface OlderRoute {
  /** The body for the handler, or a problem in terms of the older version. */
  read(body: unknown): { body: unknown } | Problem
  /** Converts the JSON of an answer. */
  write(json: string): string
  /** Renames the parameters of a problem that the handler found. */
  renamed(failure: Problem): Problem
}

/**
 * The route in the older version of this date; undefined: it was the same. Each is derived at its first use: a
 * control process that was killed must serve again at once, and older versions are rarely used.
 */
export function olderVersionsOf(
  route: Route,
  versions: readonly ApiVersion[] = API_VERSIONS,
): (date: string) => OlderRoute | undefined {
  const dates = versions.slice(0, -1).map(({ date }) => date)
  const derived = new Map<string, OlderRoute | undefined>()
  return date => {
    if (!dates.includes(date)) return undefined
    if (!derived.has(date)) derived.set(date, olderRoute(route, date, versions))
    return derived.get(date)
  }
}

function olderRoute(route: Route, date: string, versions: readonly ApiVersion[]): OlderRoute | undefined {
  const older = olderOperation(route, date, versions)
  if (older === null) return undefined
  const validate = older.body === undefined ? null : compileValidator(older.body)
  return {
    read: body => {
      if (validate === null) return { body }
      return validate(body)
        ? { body: older.up(body) }
        : validationProblem((validate.errors ?? []) as ErrorObject[], 'body')
    },
    write: json => JSON.stringify(older.down(JSON.parse(json))),
    renamed: failure => {
      if (failure.param === undefined) return failure
      const param = older.param(failure.param)
      const { message } = failure
      const isNamed = message.startsWith(`${failure.param} `)
      return { ...failure, param, message: isNamed ? param + message.slice(failure.param.length) : message }
    },
  }
}
