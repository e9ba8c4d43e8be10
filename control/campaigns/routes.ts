import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { conflict, isProblem, type Problem } from '../http/errors.ts'
import { mergedMetadata } from '../http/metadata.ts'
import { plainOf, plainRoutes } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { newId } from '../kernel/ids.ts'
import { enqueue } from '../kernel/jobs/queue.ts'
import { idParams } from '../kernel/schema.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, ownedBy, tenantOf } from '../kernel/tenancy.ts'
import { endClaims } from './preview/claims.ts'
import {
  type Campaign,
  campaignListQuery,
  campaignSchema,
  changeBody,
  createBody,
  DEFAULT_SETTINGS,
  settingsOf,
  toCampaign,
} from './schema.ts'
import {
  changedSettings,
  idleProblem,
  leaderProblem,
  lineProblem,
  type SettingsDeps,
  settingsProblem,
} from './settings.ts'
import { archivedProblem, nextStatus, type Verb } from './states.ts'
import { moveCampaign, onCall } from './store.ts'
import type { CampaignRow } from './tables.ts'

const api = operations('Campaigns', 'campaigns')

interface CampaignDeps extends SettingsDeps {
  store: Store
  now: () => Date
}

const VERBS: Record<Verb, { id: string; summary: string; description: string }> = {
  start: {
    id: 'startCampaign',
    summary: 'Start a campaign',
    description:
      'Its contacts are called from now on, within hours and caps. A stopped or completed campaign continues.',
  },
  pause: {
    id: 'pauseCampaign',
    summary: 'Pause a campaign',
    description: 'No new call begins, and contacts claimed by agents are released. Running calls continue.',
  },
  resume: { id: 'resumeCampaign', summary: 'Resume a paused campaign', description: 'Calls begin again.' },
  stop: {
    id: 'stopCampaign',
    summary: 'Stop a campaign',
    description:
      'No new call begins. The status is `stopping` until the running calls have ended. The campaign can be started again.',
  },
  archive: {
    id: 'archiveCampaign',
    summary: 'Archive a campaign',
    description: 'It can still be read, but not changed or started. 409 unless it is draft, stopped or completed.',
  },
}

export function campaignRoutes(deps: CampaignDeps): Route[] {
  const plain = plainOf({ store: deps.store, table: 'campaigns', api, reply: campaignSchema, toObject: toCampaign })
  const writing = {
    list: { query: campaignListQuery },
    createBody,
    create: create(deps),
    changeBody,
    change: change(deps),
    changeDescription:
      'Updates the fields sent. Nested objects merge with stored values; lists replace them. Applies to calls from now on. 409 once archived.',
  }
  const routes = plainRoutes(plain, writing, {
    description:
      'Its contacts, their events, and its attempts are deleted in the minutes after the answer. 409 while it or one of its calls is running.',
    before: async (trx, context, row) => {
      const isBusy = ['running', 'stopping'].includes(row.status) || (await onCall(trx, context, row.id)) > 0
      if (isBusy) return conflict('campaign_running', 'The campaign, or one of its calls, is running.')
      const of = { tenant: tenantOf(row), column: 'campaign_id', id: row.id }
      for (const table of ['campaign_contacts', 'campaign_attempts'])
        await enqueue(trx, 'rows.forget', { ...of, table }, { now: deps.now(), organisationId: row.organisation_id })
      return null
    },
  })
  const verbs = (Object.keys(VERBS) as Verb[]).map(verb =>
    api.post({
      ...VERBS[verb],
      path: `/campaigns/:id/${verb}`,
      params: idParams,
      errors: [409],
      reply: campaignSchema,
      handler: (context, { params }) => act(deps, context, params.id, verb),
    }),
  )
  return [...routes, ...verbs]
}

const create =
  (deps: CampaignDeps) =>
  (context: Context, { name, metadata = {}, ...sent }: Static<typeof createBody>): Promise<Campaign | Problem> =>
    context.transaction(async trx => {
      const settings = changedSettings(DEFAULT_SETTINGS, sent)
      if (isProblem(settings)) return settings
      const refused = idleProblem(DEFAULT_SETTINGS, settings) ?? (await settingsProblem(deps, trx, context, settings))
      if (refused !== null) return refused
      const at = deps.now().toISOString()
      const row: CampaignRow = {
        id: newId('campaign'),
        ...ownedBy(context),
        name,
        status: 'draft',
        settings: JSON.stringify(settings),
        next_call_ms: 0,
        calls_begun: 0,
        metadata: JSON.stringify(metadata),
        started_at: null,
        ended_at: null,
        created: at,
        updated: at,
      }
      await forTenant(trx, context).insert('campaigns', row)
      return toCampaign(row)
    })

const change =
  (deps: CampaignDeps) =>
  (context: Context, id: string, body: Static<typeof changeBody>): Promise<Campaign | Problem> =>
    context.withRow('campaigns', 'campaign', id, async (trx, row) => {
      const { name = row.name, metadata, ...sent } = body
      const settings = archivedProblem(row.status) ?? changedSettings(settingsOf(row), sent)
      if (isProblem(settings)) return settings
      const kept = mergedMetadata(row.metadata, metadata)
      if (isProblem(kept)) return kept
      const refused =
        idleProblem(settingsOf(row), settings) ??
        (await settingsProblem(deps, trx, context, settings)) ??
        (row.status === 'running' ? leaderProblem(settings) : null)
      if (refused !== null) return refused
      const changed = { name, settings: JSON.stringify(settings), metadata: kept, updated: deps.now().toISOString() }
      await forTenant(trx, context).change('campaigns', id, changed)
      // Contacts that agents have claimed are now called automatically, or are for the agents of another queue.
      const { mode, queue_id: queueId } = settingsOf(row)
      if (mode !== settings.mode || queueId !== settings.queue_id) await endClaims(trx, context, id, changed.updated)
      return toCampaign({ ...row, ...changed })
    })

const TOLD = { start: 'started', pause: 'paused', resume: 'resumed', stop: undefined, archive: 'archived' } as const

async function act(deps: CampaignDeps, context: Context, id: string, verb: Verb): Promise<Campaign | Problem> {
  return context.withRow('campaigns', 'campaign', id, async (trx, row) => {
    const status = nextStatus(row.status, verb)
    if (isProblem(status)) return status
    if (status === 'running') {
      const settings = settingsOf(row)
      const refused =
        leaderProblem(settings) ??
        (await settingsProblem(deps, trx, context, settings)) ??
        (await lineProblem(trx, context))
      if (refused !== null) return refused
    }
    const at = deps.now().toISOString()
    // Without a running call, a stopping campaign has stopped at once.
    const isOver = status === 'stopping' && (await onCall(trx, context, id)) === 0
    const change = {
      status: isOver ? ('stopped' as const) : status,
      updated: at,
      ...(verb === 'start' ? { started_at: row.started_at ?? at, ended_at: null } : {}),
      ...(isOver ? { ended_at: at } : {}),
    }
    if (status !== 'running') await endClaims(trx, context, id, at)
    const told = isOver ? 'stopped' : TOLD[verb]
    return toCampaign(await moveCampaign(trx, context, row, change, { told }))
  })
}
