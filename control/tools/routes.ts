import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { invalid, isProblem, missing, needed, type Problem } from '../http/errors.ts'
import { listOf, listQuery, page } from '../http/list.ts'
import { mergedMetadata } from '../http/metadata.ts'
import { plainRoutes } from '../http/plain-resource.ts'
import { type Exists, listReferences, referenceProblem, type UsesOf } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import type { ServerUrlProblem } from '../http/url-policy.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { newId } from '../kernel/ids.ts'
import { idParams } from '../kernel/schema.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import { knownSecrets } from '../secrets/values.ts'
import type { ToolKind } from './built-in.ts'
import { definitionOf } from './definition.ts'
import {
  changeBody,
  createBody,
  type Definition,
  restoreBody,
  type Tool,
  toolSchema,
  toolVersionSchema,
} from './schema.ts'
import { secretsIn } from './secrets-in.ts'
import { columnsOf, definitionAt, keepVersion, MAX_VERSIONS, noVersion, toTool } from './store.ts'
import type { ToolRow, ToolVersionRow } from './tables.ts'
import { type TrialDeps, trialRoute } from './trial.ts'

const api = operations('Tools', 'tools')

interface ToolDeps extends TrialDeps {
  store: Store
  now: () => Date
  urlProblem: ServerUrlProblem
  exists: { kbDocument: Exists }
  /** Why the target of a transfer is not valid. */
  targetProblem: (
    trx: Trx,
    tenant: Tenant,
    target: NonNullable<Definition['target']>,
    param: string,
  ) => Promise<Problem | null>
  /** The assistants that have a tool. */
  usesOf: UsesOf
}

export function toolRoutes(deps: ToolDeps): Route[] {
  const plain = {
    store: deps.store,
    table: 'tools' as const,
    object: 'tool',
    path: '/tools',
    api,
    reply: toolSchema,
    toObject: toTool,
  }
  const writing = {
    ...{ createBody, create: create(deps), changeBody, change: change(deps) },
    changeDescription:
      'Creates a new version, which assistants use from the next call on. `headers`, `body`, `response` and `parameters` are replaced, other fields merge. Emits `tool.updated`.',
  }
  const deletion = {
    description: '409 while an assistant uses it; `details.used_by` lists them. Emits `tool.deleted`.',
    usesOf: deps.usesOf,
    before: async (trx: Trx, context: Context, row: ToolRow) => {
      await forTenant(trx, context).delete('tool_versions').where('tool_id', '=', row.id).execute()
      const at = deps.now().toISOString()
      await appendEvent(trx, context, { type: 'tool.deleted', at, object: toTool(row) })
      return null
    },
  }
  return [...plainRoutes(plain, writing, deletion), ...versionRoutes(deps), trialRoute(deps)]
}

const create =
  (deps: ToolDeps) =>
  async (
    context: Context,
    { kind = 'http', name, metadata = {}, ...sent }: Static<typeof createBody>,
  ): Promise<Tool | Problem> => {
    const named = nameOf(kind, name)
    if (isProblem(named)) return named
    const definition = definitionOf(kind, null, sent)
    if (isProblem(definition)) return definition
    const misled = await addressProblem(deps, definition.http?.url)
    if (misled !== null) return misled
    return context.transaction(async trx => {
      const refused = await referencesProblem(deps, trx, context, definition)
      if (refused !== null) return refused
      const [id, at] = [newId('tool'), deps.now().toISOString()]
      const about = { id, ...named, kind, version: 1, metadata: JSON.stringify(metadata), created: at, updated: at }
      const row = { ...about, ...columnsOf(definition) }
      await forTenant(trx, context).insert('tools', row)
      await keepVersion(trx, context, row)
      const object = toTool({ ...row, ...ownedBy(context) })
      await appendEvent(trx, context, { type: 'tool.created', at, object })
      return object
    })
  }

/** A built-in tool has one name, which prompts and the offline model know; there may be several transfers. */
function nameOf(kind: ToolKind, name: string | undefined): { name: string } | Problem {
  if (kind === 'http' || kind === 'transfer') return name === undefined ? needed('name', 'name is missing.') : { name }
  if (name === undefined || name === kind) return { name: kind }
  return invalid('name', `A tool of kind ${kind} must be named ${kind}.`)
}

/** Checks the URL of a tool. The schema allows no placeholder in its host. */
const addressProblem = async ({ urlProblem }: ToolDeps, url: string | undefined): Promise<Problem | null> =>
  url === undefined ? null : urlProblem(url.replaceAll(/[{}]/g, '_'), 'http.url')

async function referencesProblem(
  deps: ToolDeps,
  trx: Trx,
  tenant: Tenant,
  definition: Definition,
  before?: Definition,
): Promise<Problem | null> {
  const { http, target, payment } = definition
  const names = http === null ? [] : secretsIn(http)
  const known = await knownSecrets(trx, tenant, names)
  const unknown = names.find(name => !known.has(name))
  if (unknown !== undefined) return invalid('http', `No such secret: ${unknown}`)
  if (target !== null) return deps.targetProblem(trx, tenant, target, 'target.id')
  const line = payment?.number ?? null
  if (line !== null) return deps.targetProblem(trx, tenant, { type: 'number', id: line }, 'payment.number')
  const { kbDocument } = deps.exists
  const [named = [], had] = [definition, before].map(of =>
    listReferences('knowledge.document_ids', of?.knowledge?.document_ids ?? [], 'knowledge-base document', kbDocument),
  )
  return referenceProblem(trx, tenant, named, had)
}

const change =
  (deps: ToolDeps) =>
  async (context: Context, id: string, { metadata, ...sent }: Static<typeof changeBody>): Promise<Tool | Problem> => {
    const misled = await addressProblem(deps, sent.http?.url)
    if (misled !== null) return misled
    return context.withRow('tools', 'tool', id, async (trx, row) => {
      const kept = mergedMetadata(row.metadata, metadata)
      if (isProblem(kept)) return kept
      const definition = definitionOf(row.kind, JSON.parse(row.definition), sent)
      if (isProblem(definition)) return definition
      return write(deps, trx, context, { ...row, metadata: kept }, definition)
    })
  }

/** Stores a tool. A changed definition becomes a new version. */
async function write(
  deps: ToolDeps,
  trx: Trx,
  context: Context,
  row: ToolRow,
  definition: Definition,
): Promise<Tool | Problem> {
  const refused = await referencesProblem(deps, trx, context, definition, JSON.parse(row.definition))
  if (refused !== null) return refused
  const columns = columnsOf(definition)
  const isNew = columns.definition !== row.definition
  const at = deps.now().toISOString()
  const changed = { ...row, ...columns, version: row.version + (isNew ? 1 : 0), updated: at }
  const { organisation_id: _, livemode: __, id, ...set } = changed
  await forTenant(trx, context).change('tools', id, set)
  const object = toTool(changed)
  if (!isNew) return object
  await keepVersion(trx, context, changed)
  await appendEvent(trx, context, { type: 'tool.updated', at, object, before: toTool(row) })
  return object
}

function versionRoutes(deps: ToolDeps): Route[] {
  return [
    api.get({
      params: idParams,
      path: '/tools/:id/versions',
      id: 'listToolVersions',
      summary: 'List the versions of a tool',
      description: `The latest ${MAX_VERSIONS}.`,
      query: listQuery,
      reply: listOf(toolVersionSchema),
      handler: async (context, { params: { id }, query }) => {
        const scoped = forTenant(deps.store.db, context)
        if ((await scoped.find('tools', id)) === undefined) return missing('tool', id)
        const versions = scoped.select('tool_versions').selectAll().where('tool_id', '=', id)
        return page(versions, query, `/v1/tools/${id}/versions`, toVersion)
      },
    }),
    api.post({
      params: idParams,
      path: '/tools/:id/restore',
      id: 'restoreTool',
      summary: 'Restore an earlier version of a tool',
      description: 'Creates a new version. Emits `tool.updated`.',
      body: restoreBody,
      reply: toolSchema,
      handler: (context, { params: { id }, body: { version } }) =>
        context.withRow('tools', 'tool', id, async (trx, row) => {
          const definition = await definitionAt(trx, context, id, version)
          if (definition === undefined) return noVersion(version)
          return write(deps, trx, context, row, definition)
        }),
    }),
  ]
}

const toVersion = (row: ToolVersionRow) => ({
  id: row.id,
  object: 'tool_version' as const,
  livemode: row.livemode === 1,
  tool_id: row.tool_id,
  version: row.version,
  ...(JSON.parse(row.definition) as Definition),
  created: row.created,
})
