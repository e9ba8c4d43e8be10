import { assistantRoutes } from '../../assistants/routes.ts'
import { routesLeadingTo } from '../../browsers/route-uses.ts'
import { clientTokenRoutes } from '../../browsers/token-routes.ts'
import { webCallRoutes } from '../../browsers/web-call-routes.ts'
import { callbackRoutes } from '../../callbacks/routes.ts'
import { callbacksUsing } from '../../callbacks/store.ts'
import { campaignContactRoutes } from '../../campaigns/contact-routes.ts'
import { campaignPreviewRoutes } from '../../campaigns/preview/routes.ts'
import { campaignResultRoutes } from '../../campaigns/result-routes.ts'
import { campaignRoutes } from '../../campaigns/routes.ts'
import { campaignsUsing } from '../../campaigns/store.ts'
import type { StreamsProblem } from '../../capture-settings/streams-problem.ts'
import { consentRoutes } from '../../consents/routes.ts'
import { copilotProfileRoutes } from '../../copilot/routes.ts'
import { doNotCallRoutes } from '../../do-not-call/routes.ts'
import { CALL_TARGETS } from '../../flows/targets.ts'
import { agentScript, callerFlow, hasVersion } from '../../flows/users.ts'
import { existsIn } from '../../http/references.ts'
import type { Route } from '../../http/route.ts'
import type { LiveParts } from '../../http/wire/live-answer.ts'
import { importRoutes } from '../../imports/routes.ts'
import { sipAddressOf, sipHostOf, wsUrlOf } from '../../kernel/addresses.ts'
import type { Db } from '../../kernel/store/store.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import { messageRoutes } from '../../messages/routes.ts'
import { OfferedModels } from '../../models/offered.ts'
import { invitationRoutes } from '../../organisation/invitation-routes.ts'
import { organisationSettings } from '../../organisation/routes.ts'
import { teamRoutes } from '../../organisation/team-routes.ts'
import { leaveTeam, memberCounts, userRoutes } from '../../organisation/user-routes.ts'
import { agentRoutes, signOut } from '../../queues/agent-routes.ts'
import { sipCredentialRoutes } from '../../queues/agents/credential-routes.ts'
import { devicesOf } from '../../queues/agents/devices.ts'
import { queueRoutes } from '../../queues/settings/routes.ts'
import { queueStatsRoutes } from '../../queues/settings/stats.ts'
import { queuesUsing, recallRings, removeTeam } from '../../queues/settings/store.ts'
import { siteRoutes } from '../../sites/routes.ts'
import { sitesUsing } from '../../sites/uses.ts'
import { toolsTransferringTo } from '../../tools/store.ts'
import { OfferedVoices } from '../../voices/offered.ts'
import { IMPORT_TARGETS } from '../import-targets.ts'
import { type AppParts, clockOf, mailerOf, serverUrlsOf, usersOf } from '../parts.ts'

/** Routes of members, queues, and what else answers calls. */
export function contactCentre(
  parts: Pick<AppParts, 'store' | 'vault' | 'now' | 'config'> & {
    live: LiveParts
    fits: StreamsProblem
  },
  publicUrl: string,
): Route[] {
  const { store, vault, now, config, live, fits } = parts
  const exists = {
    ...CALL_TARGETS,
    team: existsIn('teams'),
    copilotProfile: existsIn('copilot_profiles'),
    call: existsIn('calls'),
    audioAsset: existsIn('audio_assets'),
    kbDocument: existsIn('kb_documents'),
    tool: existsIn('tools'),
  }
  const agents = { store, now, live }
  const timezoneOf = clockOf
  return [
    ...teamRoutes({
      store,
      now,
      memberCounts,
      forgetTeam: async (trx, tenant, id) => {
        await leaveTeam(trx, tenant, id)
        await removeTeam(trx, tenant, id)
      },
    }),
    ...invitationRoutes({
      store,
      vault,
      now,
      publicUrl,
      teamExists: exists.team,
      hasMailServer: mailerOf(config) !== null,
    }),
    ...userRoutes({
      store,
      now,
      teamExists: exists.team,
      signOut: (trx, context, id) => signOut(agents, trx, context, id),
      teamChanged: (trx, tenant, id) => recallRings(trx, tenant, 'user_id', id),
    }),
    ...messageRoutes({ store, vault, now, sipHost: sipHostOf(config) }),
    ...sipCredentialRoutes({
      store,
      vault,
      now,
      registrar: sipAddressOf(config),
      sipWsUrl: `${wsUrlOf(config)}/v1/sip`,
    }),
    ...agentRoutes(agents),
    ...assistantRoutes({
      store,
      now,
      exists: { ...exists, flow: callerFlow },
      urlProblem: serverUrlsOf(config),
      streamsProblem: fits,
      voices: new OfferedVoices(config),
      models: new OfferedModels(config),
      usesOf: usersOf(queuesUsing, callbacksUsing, routesLeadingTo, campaignsUsing, toolsTransferringTo),
    }),
    ...webCallRoutes({ store }),
    ...clientTokenRoutes({ store, vault, now, exists, wsUrl: wsUrlOf(config) }),
    ...copilotProfileRoutes({
      store,
      now,
      exists: { script: agentScript, kbDocument: exists.kbDocument },
      hasVersion,
      models: new OfferedModels(config),
      usesOf: queuesUsing,
    }),
    ...queueRoutes({
      store,
      now,
      exists,
      streamsProblem: fits,
      usesOf: usersOf(queuesUsing, callbacksUsing, routesLeadingTo, campaignsUsing, sitesUsing, toolsTransferringTo),
    }),
    ...queueStatsRoutes({ store, now, live, timezoneOf }),
    ...callbackRoutes({ store, now, exists, settings: organisationSettings }),
    ...doNotCallRoutes({ store, now, settings: organisationSettings }),
    ...importRoutes({ store, now, targets: IMPORT_TARGETS, settings: organisationSettings }),
    ...consentRoutes({ store, now, settings: organisationSettings, callExists: exists.call }),
    ...campaignRoutes({ store, now, exists, voices: new OfferedVoices(config) }),
    ...campaignContactRoutes({ store, now, countryOf }),
    ...campaignResultRoutes({ store, now }),
    ...campaignPreviewRoutes({ store, now, timezoneOf: clockOf, devicesOf }),
    ...siteRoutes({ store, now, exists, publicUrl }),
  ]
}

const countryOf = async (db: Db, tenant: Tenant): Promise<string | null> =>
  (await organisationSettings(db, tenant)).country
