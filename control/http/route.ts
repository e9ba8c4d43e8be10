import type { Readable } from 'node:stream'
import type { Static, TSchema } from 'typebox'
import { idParams } from '../kernel/schema.ts'
import type { Database } from '../kernel/store/tables.ts'
import type { Context } from './context.ts'
import type { ErrorCode, Problem } from './errors.ts'
import type { Scope } from './scopes.ts'

/** Input of a handler: the validated parts of the request, typed by the route's schemas. */
interface RouteInput<P extends TSchema, Q extends TSchema, B extends TSchema> {
  params: Static<P>
  query: Static<Q>
  body: Static<B>
  /** Request headers, for `Range` and the like. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The `file` part of a route that spools; null: it was sent in another form. */
  spooled: Spooled | null
}

/** An answer that is not JSON. */
export interface RawAnswer {
  raw: Readable | Buffer | string
  status: number
  headers: Record<string, string | number>
}

export interface Upload {
  maxBytes: number
  tooLarge: ErrorCode
  /** The file may be a text parameter instead, of as many characters; each has up to six octets in JSON. */
  orText?: true
  /** The `file` part is written to disk as it arrives, and never held in memory. Maximum size of a JSON body. */
  spool?: { jsonBytes: number }
}

/** A `file` part on disk, removed once the request is answered. */
export interface Spooled {
  path: string
  bytes: number
}

/** Of a path with `:id` and no other parameter: `{id}`. */
type ParamsOf<Path extends string> = Path extends `${infer Before}/:id${infer After}`
  ? `${Before}${After}` extends `${string}:${string}`
    ? TSchema
    : typeof idParams
  : TSchema

/** What an operation says for itself; its method, group and scope are those of `operations`. */
interface Operation<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema> {
  /** Below `/v1`, for example `/calls/:id/hangup`. */
  path: string
  /** OpenAPI `operationId`, for example `hangUpCall`. */
  id: string
  summary: string
  description?: string
  /** Keys of the other mode are refused. */
  mode?: 'live' | 'test'
  /** Absent: `idParams` if the path has `:id` and no other parameter. */
  params?: P
  query?: Q
  /** Absent: the operation takes no body parameters. Built with `input({...})`; a missing body is `{}`. */
  body?: B
  /** The operation takes a file, `file.content_base64` in JSON or the `file` part of `multipart/form-data`. */
  upload?: Upload
  /** Absent: 200. */
  status?: 200 | 201 | 206
  /** Describes and serialises the answer: fields that are not in it are not sent. */
  reply: R
  /** The content type of a `RawAnswer`. */
  rawType?: string
  /** The content type of a `RawAnswer` that clients may request instead of JSON. */
  streamType?: string
  /** Works as well as possible while the store is unavailable: with a cached key, and without idempotency. */
  withoutStore?: true
  /**
   * For a GET whose answer depends only on the request and the rows of these tables. Until they are written, the answer is reused
   * (`remembered.ts`), unless the handler has called `context.passing()`.
   */
  reads?: readonly (keyof Database)[]
  /** Statuses in addition to 400, 401, 403, 408, 429, 431, 500 and 503, which every operation has, and to 404, which those have whose path names an object. */
  errors?: number[]
}

interface Handled<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema>
  extends Operation<P, Q, B, R> {
  handler(context: Context, input: RouteInput<P, Q, B>): Promise<Static<R> | Problem | RawAnswer>
}

interface Place {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** The group in `/docs`. */
  tag: string
  scope: Scope
}

type RouteDefinition<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema> = Place &
  Handled<P, Q, B, R>

/** A route without its type parameters, and with all defaults. */
export interface Route extends Place, Operation<TSchema, TSchema, TSchema, TSchema> {
  status: 200 | 201 | 206
  handler(context: Context, input: RouteInput<TSchema, TSchema, TSchema>): Promise<unknown>
}

const PARAMETERS = /:\w+/g

/** Declares an operation: the only source of validation, serialisation, authorisation and `/openapi.json`. */
export function route<
  const Path extends string,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  P extends TSchema = ParamsOf<Path>,
>(definition: RouteDefinition<P, Q, B, R> & { path: Path }): Route {
  const { path, errors = [] } = definition
  const named = path.match(PARAMETERS) ?? []
  return {
    status: 200,
    ...(named.length === 1 && named[0] === ':id' ? { params: idParams } : {}),
    ...definition,
    errors: named.length > 0 ? [404, ...errors] : errors,
  } as unknown as Route
}

/** Declares an operation; it may need another scope than `S`, and must say so if there is no `S`. */
type Declare<S extends string> = <
  const Path extends string,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  P extends TSchema = ParamsOf<Path>,
>(
  definition: Handled<P, Q, B, R> & { path: Path } & (S extends Scope ? { scope?: Scope } : { scope: Scope }),
) => Route

type AreaOf<S> = S extends `${infer Area}:${string}` ? Area : never

/** What `operations` returns, for an area with both scopes. */
export type Api = Record<'get' | 'post' | 'patch' | 'put' | 'delete', Declare<Scope>>

/** What declares the operations of a group in `/docs`: a GET needs the scope `area:read`, all others `area:write`. */
export function operations<Area extends AreaOf<Scope>>(tag: string, area: Area) {
  const declare =
    (method: Place['method'], right: 'read' | 'write') =>
    (definition: object): Route =>
      route({ method, tag, scope: `${area}:${right}`, ...definition } as never)
  return {
    get: declare('GET', 'read') as Declare<`${Area}:read`>,
    post: declare('POST', 'write') as Declare<`${Area}:write`>,
    patch: declare('PATCH', 'write') as Declare<`${Area}:write`>,
    put: declare('PUT', 'write') as Declare<`${Area}:write`>,
    delete: declare('DELETE', 'write') as Declare<`${Area}:write`>,
  }
}

export const isRaw = (value: unknown): value is RawAnswer =>
  typeof value === 'object' && value !== null && 'raw' in value && 'headers' in value
