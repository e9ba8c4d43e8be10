import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import Fastify, { type FastifySchema } from 'fastify'
import Type, { type TSchema } from 'typebox'
import { input, nullable } from '../../kernel/schema.ts'
import { VERSIONS } from '../../kernel/versions/current.ts'
import { OPERATIONS } from '../answer.ts'
import { ERRORS } from '../errors.ts'
import type { Route } from '../route.ts'
import { defaultsOptional } from './defaults.ts'

const EVERYWHERE = [400, 401, 403, 408, 429, 431, 500, 503]

const errorSchema = Type.Object({
  error: Type.Object(
    {
      type: Type.String({ enum: [...new Set(Object.values(ERRORS).map(error => error.type))] }),
      code: Type.String({ description: Object.keys(ERRORS).join(', ') }),
      message: Type.String(),
      param: nullable(Type.String()),
      doc_url: Type.String(),
      request_id: Type.String(),
      details: Type.Optional(Type.Object({}, { additionalProperties: true })),
    },
    { additionalProperties: true },
  ),
})

/** For requests without parameters. */
const NOTHING = input({})

export const takesIdempotencyKey = ({ method }: Pick<Route, 'method'>): boolean =>
  method === 'POST' || method === 'DELETE'

/** The statuses of an operation's failures. Wherever keys are taken, reusing one with other parameters is a conflict. */
export function failureStatuses(route: Route): number[] {
  const own = [...(route.errors ?? []), ...(takesIdempotencyKey(route) ? [409] : [])]
  return [...new Set([...EVERYWHERE, ...own])].sort((a, b) => a - b)
}

/** Whether a part of its file can be asked for. */
const isInParts = ({ errors }: Route): boolean => errors?.includes(416) === true

/** The schemas of the parts of a request. */
export function requestSchemas(route: Route): { params?: TSchema; body?: TSchema; querystring: TSchema } {
  return {
    querystring: route.query ?? NOTHING,
    ...(route.params === undefined ? {} : { params: route.params }),
    ...(route.method === 'GET' ? {} : { body: route.body ?? NOTHING }),
  }
}

/** The schema from which `/openapi.json` is generated. */
function describedSchema(route: Route): FastifySchema {
  const { querystring, body, ...schema } = requestSchemas(route)
  const failures = failureStatuses(route).map(status => [status, { description: 'An error.', ...errorSchema }])
  const answers = isInParts(route) ? [route.status, 206] : [route.status]
  return {
    ...schema,
    querystring: defaultsOptional(querystring),
    ...(body === undefined ? {} : { body: defaultsOptional(body) }),
    operationId: route.id,
    summary: route.summary,
    description: describe(route),
    tags: [route.tag],
    security: [{ key: [] }, { key_as_user: [] }],
    headers: headersOf(route),
    ...(route.upload === undefined ? {} : { consumes: ['application/json', 'multipart/form-data'] }),
    response: Object.fromEntries([...answers.map(status => [status, answerOf(route)]), ...failures]),
  } as FastifySchema
}

function answerOf({ reply, rawType, streamType }: Route): object {
  if (rawType !== undefined) return { content: { [rawType]: { schema: reply } } }
  if (streamType === undefined) return reply
  return { content: { 'application/json': { schema: reply }, [streamType]: { schema: { type: 'string' } } } }
}

function describe(route: Route): string {
  const mode = route.mode === undefined ? '' : ` Needs a ${route.mode} key.`
  return `${route.description ?? ''}\n\nScope: \`${route.scope}\`.${mode}`.trim()
}

/** Headers are only described here; the pipeline checks them with its own errors. */
function headersOf(route: Route) {
  const version = {
    'Service-Version': Type.Optional(
      Type.String({ description: `API version for this request: ${VERSIONS.join(', ')}; default: the key's.` }),
    ),
  }
  const idempotency = {
    'Idempotency-Key': Type.Optional(
      Type.String({ description: 'A retry within 24 hours with the same key and parameters gets the first answer.' }),
    ),
  }
  const range = { Range: Type.Optional(Type.String({ description: 'The part of the file to get: `bytes=0-999`.' })) }
  const more = takesIdempotencyKey(route) ? idempotency : isInParts(route) ? range : {}
  return Type.Object({ ...version, ...more })
}

/** The OpenAPI document of these operations, below `/v1`. `version` is the product's. */
export async function describeOperations(routes: readonly Route[], version: string): Promise<object> {
  // It serves nothing: only descriptions are printed from its routes.
  const app = Fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => String)
  await app.register(swagger, openApiDescription(version))
  for (const route of routes) {
    const schema = describedSchema(route)
    app.route({ method: route.method, url: OPERATIONS + route.path, schema, handler: async () => null })
  }
  await app.ready()
  const document = app.swagger()
  await app.close()
  return document
}

function openApiDescription(version: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tandem',
        version,
        description: 'A telephony media engine: calls, conference rooms, media streams, card-payment pause.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      components: {
        securitySchemes: {
          key: {
            type: 'http',
            scheme: 'bearer',
            description:
              "A secret API key, `sk_live_…` or `sk_test_…`. A partner's key with the scope `partners:write` acts within a client's organisation by the header `Service-Account: org_…`.",
          },
          key_as_user: { type: 'http', scheme: 'basic', description: 'The key as user name: `curl -u KEY:`.' },
        },
      },
    },
    hideUntagged: true,
  }
}
