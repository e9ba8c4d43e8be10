import type { Logger } from 'pino'
import { reachableHost } from './addresses.ts'
import { tenantOf } from './calls/records.ts'
import type { Config } from './config.ts'
import { modelChooser } from './flows/model-choice.ts'
import type { ModelProvider } from './flows/openai-model.ts'
import { isProblem } from './http/errors.ts'
import { passageSearch } from './kb/passage-search.ts'
import { acting } from './live/actions/act.ts'
import type { TransferParts } from './live/actions/transfer.ts'
import { assistantPlay } from './live/assistant/assistant-play.ts'
import { chatModels, passageFinder } from './live/assistant/model-choice.ts'
import { assistantSettings, voiceOf } from './live/assistant-settings.ts'
import { flowPlay } from './live/flow-play.ts'
import { LivePrograms } from './live/programs.ts'
import { voicemailPlay } from './live/voicemail-play.ts'
import type { HandOver } from './queues/deps.ts'
import { bookCallback } from './resources/callbacks/booking.ts'
import { organisationSettings } from './resources/organisation.ts'
import { settingsOf } from './resources/queues/store.ts'
import type { Store } from './store.ts'
import { forTenant } from './tenancy.ts'
import type { Vault } from './vault.ts'
import { httpPost } from './webhooks/http-post.ts'

/** A caller waits no longer for a model's line [ms]. */
const MODEL_TIMEOUT_MS = 10_000
/** The longest message where no queue says [s]. */
const MESSAGE_SECONDS = 120

export interface ProgramParts {
  store: Store
  vault: Vault
  config: Pick<Config, 'allowPrivateUrls' | 'dataDir' | 'publicIp' | 'sipHost'> &
    Partial<Pick<Config, 'modelKey' | 'modelName' | 'modelUrl'>>
  now: () => Date
  log: Logger
  leadTo: TransferParts['leadTo']
}

/** The operator's provider of language models, or null. */
export function providerOf({
  modelUrl: baseUrl = null,
  modelKey: apiKey = null,
  modelName: defaultModel = '',
}: ProgramParts['config']): (ModelProvider & { defaultModel: string }) | null {
  return baseUrl === null ? null : { baseUrl, apiKey, defaultModel, timeoutMs: MODEL_TIMEOUT_MS }
}

/** What leads calls: flows, assistants, and the taking of messages. To be closed before the store. */
export function buildPrograms({ store, vault, config, now, log, leadTo }: ProgramParts): LivePrograms {
  const provider = providerOf(config)
  const sipHost = config.publicIp ?? reachableHost(config.sipHost)
  const { allowPrivateUrls: allowedNetworks, dataDir } = config
  const http = { post: httpPost, allowedNetworks }
  const transfers = { store, sipHost, leadTo }
  return new LivePrograms({
    store,
    vault,
    now,
    log,
    later,
    onMessage: async (trx, voicemail) => {
      const tenant = tenantOf(voicemail)
      const { queue_id: queueId, from_address: phone, call_id: callId } = voicemail
      const queue = queueId === null ? undefined : await forTenant(trx, tenant).find('queues', queueId)
      if (queueId === null || queue === undefined || !settingsOf(queue).callbacks.voicemail_to_callback) return
      const { route, agent_id, assistant_id, priority } = settingsOf(queue).callbacks
      await bookCallback({ now, settings: organisationSettings }, trx, tenant, {
        phone,
        call_id: callId,
        queue_id: queueId,
        route,
        priority,
        ...(agent_id === null ? {} : { agent_id }),
        ...(assistant_id === null ? {} : { assistant_id }),
        source: 'voicemail',
        author: 'voicemail',
      })
    },
    plays: {
      flow: flowPlay({
        store,
        dataDir,
        businessHours: async (db, tenant) => (await organisationSettings(db, tenant)).businessHours,
        modelFor: modelChooser(store, provider),
        voiceOf: async (tenant, id) => voiceOf(await assistantSettings(store.db, tenant, id)),
        act: acting({
          ...http,
          ...transfers,
          pciOf: async (db, tenant) => (await organisationSettings(db, tenant)).pci,
          bookCallback: (tenant, { phone, callId, queueId, note }) =>
            store.transaction(async trx => {
              const booked = await bookCallback({ now, settings: organisationSettings }, trx, tenant, {
                phone,
                call_id: callId,
                ...(queueId === null ? {} : { queue_id: queueId, route: 'agent_queue' as const }),
                ...(note === null ? {} : { note }),
                source: 'flow',
                author: 'flow',
              })
              return !isProblem(booked)
            }),
        }),
      }),
      assistant: assistantPlay({
        ...http,
        ...transfers,
        log,
        modelsFor: chatModels(provider),
        passagesFor: passageFinder(passageSearch(store.engine)),
      }),
      voicemail: voicemailPlay,
    },
  })
}

/** Takes calls over from queues: an assistant or a flow leads them on, or a message is taken as the queue says. */
export const programTaker =
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

function later(task: () => void, ms: number): () => void {
  const timer = setTimeout(task, ms)
  return () => clearTimeout(timer)
}
