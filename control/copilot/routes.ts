import type { Static } from 'typebox'
import Type from 'typebox'
import type { Context } from '../http/context.ts'
import { copyName } from '../http/copy-name.ts'
import { invalid, isProblem, missing, type Problem } from '../http/errors.ts'
import { merge } from '../http/merge.ts'
import { plainOf, plainRoutes } from '../http/plain-resource.ts'
import { type Exists, listReferences, referenceProblem, type UsesOf } from '../http/references.ts'
import { operations, type Route } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { input, objectName } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { Db, Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import type { OfferedModels } from '../models/offered.ts'
import { DEFAULT_SETTINGS, profileSettings, settingsProblem } from './profile.ts'
import { type CopilotProfile, changeBody, copilotProfileSchema, createBody, type ProfileSettings } from './schema.ts'
import type { CopilotProfileRow } from './tables.ts'
import { copilotTemplateRoutes, templateOf } from './templates/routes.ts'

const api = operations('Copilot profiles', 'copilot')

interface CopilotProfileDeps {
  store: Store
  now: () => Date
  exists: { script: Exists; kbDocument: Exists }
  /** Whether a flow was ever published as this version. */
  hasVersion: (db: Db, tenant: Tenant, flowId: string, version: number) => Promise<boolean>
  models: OfferedModels
  /** The queues that use a profile, which then cannot be deleted. */
  usesOf: UsesOf
}

export function copilotProfileRoutes(deps: CopilotProfileDeps): Route[] {
  const plain = plainOf({
    store: deps.store,
    table: 'copilot_profiles',
    api,
    reply: copilotProfileSchema,
    toObject: toProfile,
  })
  return [
    ...plainRoutes(
      plain,
      {
        createBody,
        create: create(deps),
        changeBody,
        change: change(deps),
        changeDescription:
          'Updates the fields sent. Nested objects merge; lists replace. Calls that start afterwards use the new version.',
      },
      { description: '409 while a queue uses it; `details.used_by` lists them.', usesOf: deps.usesOf },
    ),
    api.post({
      path: '/copilot_profiles/:id/duplicate',
      id: 'duplicateCopilotProfile',
      summary: 'Duplicate a copilot profile',
      body: input({
        name: Type.Optional(objectName('Default: the original\'s name with "(copy)" added.')),
      }),
      status: 201,
      errors: [409],
      reply: copilotProfileSchema,
      handler: (context, { params, body }) => duplicate(deps, context, params.id, body.name),
    }),
    ...copilotTemplateRoutes(),
  ]
}

type Sent = Omit<Static<typeof changeBody>, 'name'>

const create =
  (deps: CopilotProfileDeps) =>
  async (context: Context, body: Static<typeof createBody>): Promise<CopilotProfile | Problem> => {
    const { name, template_id, ...sent } = body
    const template = template_id === undefined ? null : templateOf(template_id)
    if (isProblem(template)) return template
    const settings = merge(merge(DEFAULT_SETTINGS, template?.settings ?? {}), sent)
    return context.transaction(async trx => {
      const refused = await refusal(deps, trx, context, { sent, settings })
      return refused ?? insert(deps, trx, context, { name, template_id: template?.id ?? null, ...columns(settings) })
    })
  }

const change =
  (deps: CopilotProfileDeps) =>
  (context: Context, id: string, body: Static<typeof changeBody>): Promise<CopilotProfile | Problem> => {
    const { name, ...sent } = body
    return context.withRow('copilot_profiles', 'copilot_profile', id, async (trx, row) => {
      const before = profileSettings(row)
      const settings = merge(before, sent)
      const refused = await refusal(deps, trx, context, { sent, settings, before })
      if (refused !== null) return refused
      const next = { name: name ?? row.name, ...columns(settings) }
      if (next.name === row.name && next.settings === row.settings) return toProfile(row)
      const changed = { ...next, version: row.version + 1, updated: deps.now().toISOString() }
      await forTenant(trx, context).change('copilot_profiles', id, changed)
      return toProfile({ ...row, ...changed })
    })
  }

function duplicate(deps: CopilotProfileDeps, context: Context, id: string, name: string | undefined) {
  return context.transaction(async (trx): Promise<CopilotProfile | Problem> => {
    const row = await forTenant(trx, context).find('copilot_profiles', id)
    if (row === undefined) return missing('copilot_profile', id)
    const { template_id, flow_id, settings } = row
    return insert(deps, trx, context, { name: name ?? copyName(row.name), template_id, flow_id, settings })
  })
}

async function insert(
  deps: CopilotProfileDeps,
  trx: Trx,
  context: Context,
  profile: Pick<CopilotProfileRow, 'name' | 'template_id' | 'flow_id' | 'settings'>,
): Promise<CopilotProfile> {
  const at = deps.now().toISOString()
  const row = { id: newId('copilot_profile'), ...profile, version: 1, created: at, updated: at }
  await forTenant(trx, context).insert('copilot_profiles', row)
  return toProfile({ ...row, ...ownedBy(context) })
}

const columns = (settings: ProfileSettings) => ({
  flow_id: settings.script.flow_id,
  settings: JSON.stringify(settings),
})

async function refusal(
  deps: CopilotProfileDeps,
  trx: Trx,
  context: Context,
  { sent, settings, before }: { sent: Sent; settings: ProfileSettings; before?: ProfileSettings },
): Promise<Problem | null> {
  const [named, had] = [references(deps, settings), before && references(deps, before)]
  return (
    settingsProblem(settings) ??
    deps.models.problem('model.model', sent.model?.model) ??
    deps.models.problem('model.fallback_model', sent.model?.fallback_model) ??
    (await referenceProblem(trx, context, named, had)) ??
    (sent.script === undefined ? null : versionProblem(deps, trx, context, settings.script))
  )
}

const references = ({ exists }: CopilotProfileDeps, { script, kb }: ProfileSettings) => [
  { param: 'script.flow_id', id: script.flow_id, kind: 'flow', exists: exists.script },
  ...listReferences('kb.document_ids', kb.document_ids, 'knowledge-base document', exists.kbDocument),
]

/** Why a pinned version is invalid: it must be a published version of the flow, also if only the flow is changed. */
async function versionProblem(
  { hasVersion }: CopilotProfileDeps,
  trx: Trx,
  context: Context,
  { flow_id: flowId, version }: ProfileSettings['script'],
): Promise<Problem | null> {
  if (version === 'published' || (flowId !== null && (await hasVersion(trx, context, flowId, version)))) return null
  const message =
    flowId === null ? 'script.version needs a flow.' : `The flow has no published version ${version}: ${flowId}`
  return invalid('script.version', message)
}

const toProfile = (row: CopilotProfileRow): CopilotProfile => showRow(copilotProfileSchema, row, profileSettings(row))
