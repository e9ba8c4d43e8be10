import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { invalid, missing, type Problem } from '../http/errors.ts'
import { operations, type Route } from '../http/route.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { blotOf } from '../secrets/blot.ts'
import { requestOf } from './http-request.ts'
import { inputProblem } from './input.ts'
import { type Definition, type HttpSettings, type ToolTest, testBody, toolTestSchema } from './schema.ts'
import { secretsIn } from './secrets-in.ts'
import { definitionAt, noVersion } from './store.ts'
import type { ToolRow } from './tables.ts'
import { type ToolParts, useHttp } from './use-http.ts'

const api = operations('Tools', 'tools')

export interface TrialDeps {
  store: Store
  parts: ToolParts
  /** The knowledge base's passages for a question; empty: none. */
  lookUp: (db: Db, tenant: Tenant, documentIds: string[], question: string) => Promise<string>
}

type Body = Static<typeof testBody>
type Outcome = Pick<ToolTest, 'status' | 'request' | 'output' | 'http_status' | 'attempts'>

export const trialRoute = (deps: TrialDeps): Route =>
  api.post({
    path: '/tools/:id/test',
    id: 'testTool',
    summary: 'Test a tool',
    description:
      'As a model would use it. `dry` shows the request; `real` sends it and shows what the model would get. Secrets are masked in both. Tools that act on a call can only be tested dry. A test with invalid arguments fails.',
    body: testBody,
    reply: toolTestSchema,
    handler: (context, { params, body }) => trial(deps, context, params.id, body),
  })

async function trial(deps: TrialDeps, context: Context, id: string, body: Body): Promise<ToolTest | Problem> {
  const row = await forTenant(deps.store.db, context).find('tools', id)
  if (row === undefined) return missing('tool', id)
  const { mode = 'dry', version = row.version, arguments: said = {} } = body
  const definition = await definitionAt(deps.store.db, context, id, version)
  if (definition === undefined) return noVersion(version)
  const isReal = mode === 'real'
  if (isReal && row.kind !== 'http' && row.kind !== 'search_knowledge') {
    return invalid('mode', `A tool of kind ${row.kind} acts on a call: test it dry.`)
  }
  const startedAt = performance.now()
  const outcome = await outcomeOf(deps, context, row, definition, { ...body, mode, arguments: said })
  const duration_ms = Math.round(performance.now() - startedAt)
  const answer: ToolTest = {
    object: 'tool_test',
    tool_id: id,
    livemode: context.livemode,
    version,
    mode,
    ...outcome,
    duration_ms,
  }
  // Stored for a retry with the same `Idempotency-Key`, so that the request is not sent twice.
  return context.transaction(async () => answer)
}

async function outcomeOf(
  deps: TrialDeps,
  context: Context,
  row: ToolRow,
  { parameters, http, knowledge }: Definition,
  { mode, arguments: said = {}, call = {} }: Body,
): Promise<Outcome> {
  const outcome = (status: 'succeeded' | 'failed', output: string | null): Outcome => ({
    ...{ status, output, request: null, http_status: null, attempts: 0 },
  })
  const unfit = inputProblem(parameters, said)
  if (unfit !== null) return outcome('failed', `failed: ${unfit}`)
  if (http === null) {
    if (mode === 'dry' || row.kind !== 'search_knowledge') return outcome('succeeded', null)
    const documentIds = knowledge?.document_ids ?? []
    return outcome('succeeded', await deps.lookUp(deps.store.db, context, documentIds, String(said.query)))
  }
  const request = shownRequest(http, said, call)
  if (typeof request === 'string') return outcome('failed', `failed: ${request}`)
  if (mode === 'dry') return { ...outcome('succeeded', null), request }
  const used = await useHttp(deps.parts, http, {
    tenant: context,
    input: said,
    call,
    key: `test-${context.idempotencyKey ?? context.requestId}`,
    signal: AbortSignal.timeout(MAX_TEST_MS),
  })
  const { attempts, httpStatus: http_status } = used
  return used.outcome === 'success'
    ? { status: 'succeeded', output: used.output, request, http_status, attempts }
    : { status: 'failed', output: `failed: ${used.message}`, request, http_status, attempts }
}

/** More than the time limit of all attempts of a use [ms]. */
const MAX_TEST_MS = 35_000

/** The request as it may be shown. */
function shownRequest(http: HttpSettings, said: Record<string, unknown>, call: object): ToolTest['request'] | string {
  const secrets = new Map(secretsIn(http).map(name => [name, blotOf(name)]))
  const request = requestOf(http, { said, call: call as Record<string, string>, secrets })
  if (typeof request === 'string') return request
  const { method = 'POST', url, headers, body = null } = request
  return { method, url, headers, body }
}
