import type { ErrorObject } from 'ajv'
import { API_VERSIONS } from '../../kernel/versions/all.ts'
import type { ApiVersion } from '../../kernel/versions/version.ts'
import type { Problem } from '../errors.ts'
import type { Route } from '../route.ts'
import { olderOperation } from '../versions/translate.ts'
import { compileValidator, validationProblem } from './validation.ts'

/** A route as one older version shows it. */
export interface OlderRoute {
  /** The body for the handler, or what is wrong with it in the words of the older version. */
  read(body: unknown): { body: unknown } | Problem
  /** The JSON of an answer. */
  write(json: string): string
  /** A problem that the handler found. */
  renamed(failure: Problem): Problem
}

/** The older versions in which the route looks different, by their dates. */
export function olderVersionsOf(
  route: Route,
  versions: readonly ApiVersion[] = API_VERSIONS,
): ReadonlyMap<string, OlderRoute> {
  return new Map(
    versions.slice(0, -1).flatMap(({ date }): [string, OlderRoute][] => {
      const older = olderOperation(route, date, versions)
      if (older === null) return []
      const validate = older.body === undefined ? null : compileValidator(older.body, 'body')
      return [
        [
          date,
          {
            read: body => {
              if (validate === null) return { body }
              return validate(body)
                ? { body: older.up(body) }
                : validationProblem((validate.errors ?? []) as ErrorObject[])
            },
            write: json => JSON.stringify(older.down(JSON.parse(json))),
            renamed: failure =>
              failure.param === undefined ? failure : { ...failure, param: older.param(failure.param) },
          },
        ],
      ]
    }),
  )
}
