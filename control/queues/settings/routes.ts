import type { Static } from 'typebox'
import type { StreamsProblem } from '../../capture-settings/streams-problem.ts'
import type { Context } from '../../http/context.ts'
import { conflict, invalid, missing, type Problem } from '../../http/errors.ts'
import { listOf, listQuery, page } from '../../http/list.ts'
import { merge } from '../../http/merge.ts'
import { plainOf, plainRoutes } from '../../http/plain-resource.ts'
import { type Exists, existsIn, listReferences, referenceProblem, type UsesOf } from '../../http/references.ts'
import { operations, type Route } from '../../http/route.ts'
import { newId } from '../../kernel/ids.ts'
import type { Store, Trx } from '../../kernel/store/store.ts'
import { forTenant, ownedBy } from '../../kernel/tenancy.ts'
import { queueCallSchema, toQueueCall } from '../call-schema.ts'
import type { QueueRow } from '../tables.ts'
import { applyToWaiting, waitedMs } from '../waiting-calls.ts'
import { DEFAULT_SETTINGS, overflowsIntoItself, settingsProblem } from './queue.ts'
import { changeBody, createBody, type Queue, type QueueSettings, queueSchema } from './schema.ts'
import { allQueues, saveSettings, settingsOf, toQueue, waitingIn } from './store.ts'

const api = operations('Queues', 'queues')

interface QueueDeps {
  store: Store
  now: () => Date
  exists: { user: Exists; team: Exists; assistant: Exists; copilotProfile: Exists; audioAsset: Exists }
  /** Why a queue cannot be deleted: its open callbacks. */
  usesOf: UsesOf
  streamsProblem: StreamsProblem
}

export function queueRoutes(deps: QueueDeps): Route[] {
  const { store, now } = deps
  const plain = plainOf({ store, table: 'queues', api, reply: queueSchema, toObject: toQueue })
  return [
    ...plainRoutes(
      plain,
      { createBody, create: create(deps), changeBody, change: change(deps) },
      {
        description:
          '409 while calls wait in it, another queue overflows into it, or an open callback waits for it; `details.used_by` lists the latter two.',
        usesOf: deps.usesOf,
        before: async (trx, context, { id }) =>
          (await waitingIn(trx, context, id)).length > 0 ? conflict('in_use', 'Calls wait in the queue.') : null,
      },
    ),
    api.get({
      path: '/queues/:id/calls',
      id: 'listQueueCalls',
      summary: 'List the calls that wait in a queue',
      query: listQuery,
      reply: listOf(queueCallSchema),
      handler: async (context, { params, query }) => {
        const { id } = params
        const scoped = forTenant(store.db, context)
        if ((await scoped.find('queues', id)) === undefined) return missing('queue', id)
        const order = await waitingIn(store.db, context, id)
        const rows = scoped.select('queue_calls').selectAll().where('queue_id', '=', id)
        const at = now().toISOString()
        return page(rows, query, `/v1/queues/${id}/calls`, row =>
          toQueueCall(row, { position: order.indexOf(row.id) + 1, waitMs: waitedMs(store.db, row, at) }),
        )
      },
    }),
  ]
}

const create =
  (deps: QueueDeps) =>
  async (context: Context, body: Static<typeof createBody>): Promise<Queue | Problem> => {
    const unfit = await deps.streamsProblem(body.streams)
    if (unfit !== null) return unfit
    const { name, ...sent } = body
    const settings = merge(DEFAULT_SETTINGS, sent)
    const at = deps.now().toISOString()
    const row: QueueRow = {
      id: newId('queue'),
      ...ownedBy(context),
      name,
      settings: JSON.stringify(settings),
      created: at,
      updated: at,
    }
    return context.transaction(async trx => {
      const refused = await refusal(deps, trx, context, { id: row.id, settings })
      if (refused !== null) return refused
      await forTenant(trx, context).insert('queues', row)
      return toQueue(row)
    })
  }

const change =
  (deps: QueueDeps) =>
  async (context: Context, id: string, body: Static<typeof changeBody>): Promise<Queue | Problem> => {
    const unfit = await deps.streamsProblem(body.streams)
    if (unfit !== null) return unfit
    const { name, ...sent } = body
    return context.withRow('queues', 'queue', id, async (trx, row) => {
      const before = settingsOf(row)
      const settings = merge(before, sent)
      const refused = await refusal(deps, trx, context, { id, settings, before })
      if (refused !== null) return refused
      const at = deps.now().toISOString()
      const changed = { name: name ?? row.name, settings: JSON.stringify(settings), updated: at }
      await saveSettings(trx, context, id, changed)
      await applyToWaiting(trx, context, id, { before, after: settings, at })
      return toQueue({ ...row, ...changed })
    })
  }

/** Why a queue's settings are invalid. */
async function refusal(
  deps: QueueDeps,
  trx: Trx,
  context: Context,
  queue: { id: string; settings: QueueSettings; before?: QueueSettings },
): Promise<Problem | null> {
  const { id, settings, before } = queue
  const [named, had] = [references(deps, settings), before && references(deps, before)]
  const refused = settingsProblem(settings) ?? (await referenceProblem(trx, context, named, had))
  if (refused !== null) return refused
  const all = new Map((await allQueues(trx, context)).map(row => [row.id, settingsOf(row)]))
  if (!overflowsIntoItself(id, all.set(id, settings))) return null
  return invalid('overflow.queue_id', 'Calls would overflow back into this queue.')
}

function references({ exists }: QueueDeps, settings: QueueSettings) {
  const { overflow, hold, callbacks } = settings
  const one = (param: string, id: string | null, kind: string, found: Exists) => ({ param, id, kind, exists: found })
  return [
    ...listReferences('member_user_ids', settings.member_user_ids, 'user', exists.user),
    ...listReferences('member_team_ids', settings.member_team_ids, 'team', exists.team),
    one('overflow.assistant_id', overflow.assistant_id, 'assistant', exists.assistant),
    one('overflow.user_id', overflow.user_id, 'user', exists.user),
    one('overflow.queue_id', overflow.queue_id, 'queue', existsIn('queues')),
    one('hold.audio_asset_id', hold.audio_asset_id, 'audio asset', exists.audioAsset),
    one('callbacks.agent_id', callbacks.agent_id, 'user', exists.user),
    one('callbacks.assistant_id', callbacks.assistant_id, 'assistant', exists.assistant),
    one('voice_assistant_id', settings.voice_assistant_id, 'assistant', exists.assistant),
    one('copilot_profile_id', settings.copilot_profile_id, 'copilot profile', exists.copilotProfile),
  ]
}
