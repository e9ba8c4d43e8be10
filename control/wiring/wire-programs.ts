import type { Logger } from 'pino'
import { acting } from '../assistants/acting.ts'
import type { CentreParts } from '../assistants/actions/reach.ts'
import { assistantModels } from '../assistants/assistant/assistant-models.ts'
import { assistantPlay } from '../assistants/assistant/assistant-play.ts'
import { flowModels } from '../assistants/assistant/node-reply.ts'
import { passageFinder } from '../assistants/assistant/passage-finder.ts'
import { assistantSettings, voiceOf } from '../assistants/assistant-settings.ts'
import { flowPlay } from '../assistants/flow-play.ts'
import { LivePrograms, type ProgramsParts } from '../assistants/programs.ts'
import { voicemailPlay } from '../assistants/voicemail/play.ts'
import { bookCallback } from '../callbacks/booking.ts'
import type { CallPrograms } from '../calls/conductor/driver.ts'
import type { ModelParts } from '../copilot/deep/answer.ts'
import { CallLimit } from '../copilot/deep/call-limit.ts'
import type { Config } from '../kernel/config/settings.ts'
import { afterMs } from '../kernel/periodic.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, tenantOf } from '../kernel/tenancy.ts'
import type { Vault } from '../kernel/vault.ts'
import { passageSearch } from '../knowledge/passage-search.ts'
import { Models } from '../models/choice.ts'
import { Embeddings } from '../models/embeddings.ts'
import { ModelMeter } from '../models/meter.ts'
import { organisationSettings, pciSettings } from '../organisation/routes.ts'
import type { CallCentre } from '../queues/call-centre.ts'
import { bookInCall } from '../queues/callbacks/in-call.ts'
import { returnedByQueue } from '../queues/callbacks/of-queue.ts'
import type { CallCentreParts, HandOver } from '../queues/deps.ts'
import { settingsOf } from '../queues/settings/store.ts'
import { secretReader } from '../secrets/values.ts'
import { httpPost } from '../webhooks/http-post.ts'

/** Maximum length of a voicemail if no queue says otherwise [s]. */
const MESSAGE_SECONDS = 120

interface ProgramParts {
  store: Store
  vault: Vault
  config: Pick<Config, 'allowPrivateUrls' | 'dataDir'> & Partial<Config>
  now: () => Date
  log: Logger
  centre: Omit<CentreParts, 'store'> & Pick<ProgramsParts, 'asksFirst'>
}

/** The language models of the operator's provider. */
export const modelsOf = ({
  modelUrl: baseUrl = null,
  modelKey: apiKey = null,
  modelName: defaultModel = '',
}: ProgramParts['config']): Models => new Models(baseUrl === null ? null : { baseUrl, apiKey, defaultModel })

/** Embeddings by the operator's provider; null: our own word vectors. */
export const embeddingsOf = ({
  embeddingsUrl: baseUrl,
  embeddingsKey: apiKey,
  embeddingsName: model,
}: Pick<Config, 'embeddingsKey' | 'embeddingsName' | 'embeddingsUrl'>): Embeddings | null =>
  baseUrl === null ? null : new Embeddings({ baseUrl, apiKey, model })

/** The models for agents' questions and the deep path. */
export const askingBy = (parts: Pick<ProgramParts, 'store' | 'now' | 'log' | 'config'>): ModelParts => ({
  models: modelsOf(parts.config),
  meter: new ModelMeter({ ...parts, prices: parts.config.modelPrices ?? new Map() }),
  limit: new CallLimit(),
})

/** The programs that lead calls: flows, assistants, voicemail. To be closed before the store. */
export function buildPrograms({ store, vault, config, now, log, centre }: ProgramParts): LivePrograms {
  const models = modelsOf(config)
  const { allowPrivateUrls: allowedNetworks, dataDir } = config
  const http = { post: httpPost, allowedNetworks, secrets: secretReader(store.db, vault) }
  const calls = { store, ...centre }
  const passagesFor = passageFinder(passageSearch(store.engine))
  const booking = { now, settings: organisationSettings }
  const book = bookInCall({ store, ...booking })
  return new LivePrograms({
    store,
    vault,
    now,
    log,
    later: afterMs,
    asksFirst: centre.asksFirst,
    onMessage: async (trx, voicemail) => {
      const tenant = tenantOf(voicemail)
      const { queue_id: queueId, from_address: phone, call_id: callId } = voicemail
      const queue = queueId === null ? undefined : await forTenant(trx, tenant).find('queues', queueId)
      if (queueId === null || queue === undefined || !settingsOf(queue).callbacks.voicemail_to_callback) return
      const returned = returnedByQueue(queue)
      await bookCallback(booking, trx, tenant, {
        ...{ phone, call_id: callId, ...returned },
        source: 'voicemail',
        author: 'voicemail',
      })
    },
    plays: {
      flow: flowPlay({
        store,
        dataDir,
        businessHours: async (db, tenant) => (await organisationSettings(db, tenant)).businessHours,
        log,
        modelFor: flowModels({ store, models, passagesFor, http }),
        voiceOf: async (tenant, id) => voiceOf(await assistantSettings(store.db, tenant, id)),
        act: acting({ ...http, ...calls, pciOf: pciSettings, bookCallback: book }),
      }),
      assistant: assistantPlay({
        ...http,
        ...calls,
        pciOf: pciSettings,
        bookCallback: book,
        log,
        modelsFor: assistantModels({
          models,
          db: store.db,
          now,
          timezoneOf: async (db, tenant) => (await organisationSettings(db, tenant)).timezone,
        }),
        passagesFor,
      }),
      voicemail: voicemailPlay,
    },
  })
}

/** The call centre as programs use it. */
export const centreOf = (centre: CallCentre): ProgramParts['centre'] => ({
  leadTo: (...led) => centre.leadTo(...led),
  asksFirst: (trx, tenant, led, target) => {
    const [type, id] =
      'flowId' in target ? (['flow', target.flowId] as const) : (['assistant', target.assistantId] as const)
    return centre.asksFirst(trx, tenant, led, { type, id })
  },
  ring: (...ring) => centre.ringLed(...ring),
  putThrough: (...led) => centre.putThrough(...led),
})

/** Programs as the call centre uses them. A function, since the call centre is built first. */
export const ledBy = (programs: () => LivePrograms): Pick<CallCentreParts, 'handOver' | 'led'> => ({
  handOver: (...given) => programTaker(programs())(...given),
  led: { told: (...told) => programs().told(...told), letGo: (...given) => programs().letGo(...given) },
})

/** Hands calls over to programs: an assistant, a flow, or voicemail with the queue's settings. */
const programTaker =
  (programs: LivePrograms): HandOver =>
  async (trx, tenant, { program, ...given }) => {
    if (program.type === 'assistant') await programs.take(trx, tenant, given, { assistantId: program.id })
    else if (program.type === 'flow') await programs.take(trx, tenant, given, { flowId: program.id })
    else {
      const { queueId, userId } = program
      const queue = queueId === null ? undefined : await forTenant(trx, tenant).find('queues', queueId)
      const voicemail = queue === undefined ? null : settingsOf(queue).voicemail
      const mailbox = { queueId, userId, maxSeconds: voicemail?.max_seconds ?? MESSAGE_SECONDS }
      await programs.take(trx, tenant, given, { mailbox, greeting: voicemail?.message ?? '', language: null })
    }
    return true
  }

/** Combines two listeners: each event goes to both, in its transaction. */
export const alongside = (first: CallPrograms, second: CallPrograms): CallPrograms => ({
  hears: new Set([...first.hears, ...second.hears]),
  on: async (trx, event) => {
    for (const one of [first, second]) if (one.hears.has(event.name)) await one.on(trx, event)
  },
  resume: async (...resumed) => {
    await first.resume(...resumed)
    await second.resume(...resumed)
  },
})
