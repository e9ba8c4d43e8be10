import { lookUp } from '../../assistants/assistant/built-in-tools.ts'
import { flowModels } from '../../assistants/assistant/node-reply.ts'
import { passageFinder } from '../../assistants/assistant/passage-finder.ts'
import { handOverProblem } from '../../assistants/hand-overs.ts'
import { assistantsWithTool } from '../../assistants/tool-users.ts'
import { audioConverter } from '../../audio/convert.ts'
import { audioAssetRoutes } from '../../audio/routes.ts'
import { routesLeadingTo } from '../../browsers/route-uses.ts'
import { campaignsUsing } from '../../campaigns/store.ts'
import type { StreamsProblem } from '../../capture-settings/streams-problem.ts'
import { copilotSessionRoutes } from '../../copilot/session-routes.ts'
import type { Copilot } from '../../copilot/sessions/copilot.ts'
import { Feed } from '../../copilot/sessions/feed.ts'
import { flowRoutes } from '../../flows/routes.ts'
import { knownTargets } from '../../flows/targets.ts'
import { assistantsLedBy, knownAssets, profilesScriptedBy } from '../../flows/users.ts'
import { flowsUsing } from '../../flows/uses.ts'
import { existsIn } from '../../http/references.ts'
import type { Route } from '../../http/route.ts'
import type { LiveParts } from '../../http/wire/live-answer.ts'
import { kbDocumentRoutes } from '../../knowledge/document-routes.ts'
import { forgetDocument } from '../../knowledge/document-users.ts'
import { passageSearch } from '../../knowledge/passage-search.ts'
import { kbSearchRoutes } from '../../knowledge/search-routes.ts'
import { OfferedModels } from '../../models/offered.ts'
import { queuesUsing } from '../../queues/settings/store.ts'
import { reportRoutes } from '../../reports/routes.ts'
import { secretRoutes } from '../../secrets/routes.ts'
import { secretReader } from '../../secrets/values.ts'
import { toolRoutes } from '../../tools/routes.ts'
import { secretUsers, toolsTransferringTo } from '../../tools/store.ts'
import { httpPost } from '../../webhooks/http-post.ts'
import { type AppParts, clockOf, serverUrlsOf, usersOf } from '../parts.ts'
import { askingBy, modelsOf } from '../wire-programs.ts'

/** Routes of the copilot. */
export function copilot(
  parts: Pick<AppParts, 'store' | 'vault' | 'now' | 'log' | 'config' | 'copilot' | 'asking'>,
  live: LiveParts,
): Route[] {
  const { store, vault, now, asking = askingBy(parts) } = parts
  const { feed, starting } = parts.copilot ?? silentCopilot(now)
  return copilotSessionRoutes({
    ...asking,
    store,
    vault,
    now,
    feed,
    starting,
    live,
    search: passageSearch(store.engine),
  })
}

function silentCopilot(now: () => Date): Pick<Copilot, 'feed' | 'starting'> {
  const feed = new Feed()
  return { feed, starting: { now, feed, begun: () => {} } }
}

/** Routes of uploads and reports. */
export function content({ store, now, config }: Pick<AppParts, 'store' | 'now' | 'config'>): Route[] {
  const { dataDir } = config
  return [
    ...audioAssetRoutes({
      store,
      now,
      dataDir,
      convert: audioConverter(),
      usesOf: usersOf(queuesUsing, flowsUsing, campaignsUsing),
    }),
    ...kbDocumentRoutes({ store, now, search: passageSearch(store.engine), forgetDocument }),
    ...kbSearchRoutes({ store, search: passageSearch(store.engine), documentExists: existsIn('kb_documents') }),
    ...reportRoutes({ store, now, timezoneOf: clockOf }),
  ]
}

/** Routes of flows and simulations, with the models that speak in them. */
export function flows(
  {
    store,
    now,
    config,
    live,
    fits,
  }: Pick<AppParts, 'store' | 'now' | 'config'> & { live: LiveParts; fits: StreamsProblem },
  publicUrl: string,
): Route[] {
  return flowRoutes({
    store,
    streamsProblem: fits,
    models: new OfferedModels(config),
    now,
    publicUrl,
    knownAssets,
    knownTargets,
    urlProblem: serverUrlsOf(config),
    usesOf: usersOf(assistantsLedBy, profilesScriptedBy, routesLeadingTo, campaignsUsing, toolsTransferringTo),
    modelFor: flowModels({
      store,
      models: modelsOf(config),
      passagesFor: passageFinder(passageSearch(store.engine)),
      http: null,
    }),
    streams: live.streams,
  })
}

/** Routes of tools and secrets. */
export function tools({ store, vault, now, config }: Pick<AppParts, 'store' | 'vault' | 'now' | 'config'>): Route[] {
  const { allowPrivateUrls: allowedNetworks } = config
  return [
    ...toolRoutes({
      store,
      now,
      urlProblem: serverUrlsOf(config),
      exists: { kbDocument: existsIn('kb_documents') },
      targetProblem: (trx, tenant, target, param) => handOverProblem(trx, tenant, [{ target }], () => param),
      usesOf: assistantsWithTool,
      parts: { post: httpPost, allowedNetworks, secrets: secretReader(store.db, vault) },
      lookUp: lookUp(passageFinder(passageSearch(store.engine))),
    }),
    ...secretRoutes({ store, vault, now, usersOf: secretUsers }),
  ]
}
