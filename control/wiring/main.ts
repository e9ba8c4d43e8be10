import { setTimeout as sleep } from 'node:timers/promises'
import { REHEARSAL_AFTER_MS } from '../../media/protocol.ts'
import { endLostNodes } from '../assistants/lost-nodes.ts'
import { CopilotDesktops } from '../browsers/copilot-desktop.ts'
import { RunningCalls } from '../calls/conductor/running-calls.ts'
import { StrayLegs } from '../calls/conductor/stray-legs.ts'
import { sendDue } from '../calls/steps/follow.ts'
import { TraceKeeper } from '../calls/tracing/trace-keeper.ts'
import { DeepPath } from '../copilot/deep/deep-path.ts'
import { Meanings } from '../copilot/deep/meanings.ts'
import { Copilot } from '../copilot/sessions/copilot.ts'
import { Feed } from '../copilot/sessions/feed.ts'
import { describeListenError } from '../http/http-port.ts'
import { releaseInterruptedAttempts } from '../http/idempotency.ts'
import { publicUrlOf } from '../kernel/addresses.ts'
import type { Config } from '../kernel/config/config.ts'
import { readConfig } from '../kernel/config/read.ts'
import { mediaSocketPath } from '../kernel/data-dir.ts'
import { releaseInterruptedJobs } from '../kernel/jobs/claims.ts'
import { makeLog } from '../kernel/log.ts'
import { BEAT_MS, beat } from '../kernel/nodes/heartbeat.ts'
import { Periodic } from '../kernel/periodic.ts'
import { only } from '../kernel/store/after-commit.ts'
import { openConfiguredStore } from '../kernel/store/configured-store.ts'
import { openVault, type Vault } from '../kernel/vault.ts'
import { vaultFits } from '../kernel/vault-check.ts'
import { passageSearch } from '../knowledge/passage-search.ts'
import { MediaClient } from '../media-link/client.ts'
import { giveUpLost } from '../messages/delivery.ts'
import { PhoneSubscriptions } from '../queues/agents/subscriptions.ts'
import { RetentionDuty } from '../retention/duty.ts'
import { sealStoredPasswords } from '../trunks/account.ts'
import { CONNECTION_CHANGED } from '../trunks/networks.ts'
import { buildApp } from './app.ts'
import {
  buildCallCentre,
  buildDialler,
  buildDispatcher,
  buildDriver,
  buildDuties,
  buildJobs,
  buildKeeper,
  lostNodes,
} from './background.ts'
import type { ControlReady } from './banner.ts'
import { describeNumbers } from './demo.ts'
import { firstStart, unknownKeys } from './first-start.ts'
import { rehearse } from './rehearsal.ts'
import { alongside, askingBy, buildPrograms, centreOf, embeddingsOf, ledBy } from './wire-programs.ts'

/** The banner waits this long for the channel; after that the API answers 503 until media is there. */
const MEDIA_WAIT_MS = 5000
/** How long requests under way may take once the process is to end [ms]. */
const CLOSE_LIMIT_MS = 3000
const POLL_MS = 20
/** How late a wait, a wrap-up or a callback may come to its end; it decides what the clock alone makes due, and polls for no command. */
const QUEUES_MS = 500
/** How late it is seen that another node has changed facts of our calls: it cannot wake us. */
const OTHERS_MS = 2000
/** How late a campaign's call may begin. */
const CAMPAIGNS_MS = 250
/** How soon silence, a monologue or a disclosure that is due is seen. */
const COPILOTS_MS = 1000
/** How soon media hears of a changed connection. */
const CONNECTIONS_MS = 1000
/** How late the lamps of phones are. */
const LAMPS_MS = 300
/** A call that is younger than this cannot be ended while the store is away. */
const RUNNING_MS = 2000
/** Half of the time that a leg whose call has ended may be left over. */
const STRAYS_MS = 15_000
/** How often what passed over SIP for legs that have ended is fetched. */
const TRACES_MS = 1000

/** Ends the process with one line of reason; the supervisor starts a new one, or gives up when it is the first. */
function fail(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

function configuration(): Config {
  const read = readConfig(process.env)
  return 'errors' in read ? fail(read.errors.join('\n')) : read.config
}

/** The control process. Resolves once it serves, with media or without, and its path of a call is compiled. */
export async function main(): Promise<void> {
  const config = configuration()
  const now = (): Date => new Date()
  const log = await makeLog(config.logLevel, 'control')
  const isRestart = process.env.TANDEM_CONTROL_RESTART !== undefined
  const store = await openConfiguredStore(config, isRestart).catch((error: Error) => fail(error.message))
  await releaseInterruptedAttempts(store)
  await releaseInterruptedJobs(store)
  async function vaultOrFail(): Promise<Vault> {
    try {
      const vault = openVault(config.dataDir)
      if (await vaultFits(store, vault)) return vault
    } catch (error) {
      return fail(`Cannot read the key of stored secrets (${(error as Error).message}).`)
    }
    return fail(
      `vault.key in ${config.dataDir} is not the key of this database's secrets: copy it from the database's first node, or from a backup.`,
    )
  }

  const parts = { store, config, now, log, vault: await vaultOrFail() }
  await sealStoredPasswords(store, parts.vault)
  const dispatcher = buildDispatcher(parts)
  const asking = askingBy(parts)
  const jobs = buildJobs({ ...parts, asking })
  const retention = new RetentionDuty({ ...parts, dataDir: config.dataDir })
  const duties = buildDuties(parts, retention)
  const centre = buildCallCentre(
    parts,
    ledBy(() => programs),
  )
  const programs = buildPrograms({ ...parts, centre: centreOf(centre) })
  const feed = new Feed()
  const deepPath = new DeepPath({ ...parts, feed, search: passageSearch(store.engine), ...asking })
  const vectors = embeddingsOf(config)
  const meanings =
    vectors === null
      ? null
      : new Meanings({ ...parts, feed, search: passageSearch(store.engine), vectors, meter: asking.meter })
  const copilot = new Copilot({
    ...parts,
    feed,
    vectors,
    search: passageSearch(store.engine),
    closing: row => deepPath.closing(row),
  })
  const keeper = buildKeeper(parts)
  const subscriptions = new PhoneSubscriptions(store)
  const media = new MediaClient(
    mediaSocketPath(config.dataDir),
    buildDriver({ ...parts, centre, programs: alongside(programs, copilot), keeper, feed, asking, subscriptions }),
    log,
    { publicUrl: publicUrlOf(config) },
  )
  new CopilotDesktops({ store, log, feed, media })
  const counters = () => ({ webhooks: dispatcher.counters, jobs: jobs.counters, retention: retention.counters })
  const running = new RunningCalls(store)
  /** Says that our calls are alive; when others have ended them meanwhile, media is to hear of it. */
  async function beatOnce(): Promise<void> {
    if (media.state === 'ready' && (await beat(store, now()))) media.reconnect()
  }

  const heartbeat = new Periodic({ name: 'heartbeat', everyMs: BEAT_MS, firstMs: 0, run: beatOnce, log })
  const isStoreAway = () => media.isStoreAway || heartbeat.isStoreAway
  const app = await buildApp({ ...parts, centre, copilot, asking, media, counters, isStoreAway, running })
  const connections = new Periodic({ name: 'connections', everyMs: CONNECTIONS_MS, run: () => keeper.run(media), log })
  // Its address may call in the next moment, and would be a stranger's.
  store.committed.add(only([CONNECTION_CHANGED], () => connections.hurry()))
  const strays = new StrayLegs({ store, log })
  const traceKeeper = new TraceKeeper({ store })
  const lost = lostNodes(parts, centre)
  const dialler = buildDialler(parts)

  const periodic = [
    new Periodic({ name: 'campaigns', everyMs: CAMPAIGNS_MS, run: dialCampaigns, log }),
    new Periodic({ name: 'queues', everyMs: QUEUES_MS, run: () => centre.run(media), log }),
    new Periodic({ name: 'changed by others', everyMs: OTHERS_MS, run: changedByOthers, log }),
    new Periodic({ name: 'copilots', everyMs: COPILOTS_MS, run: () => copilot.tick(), log }),
    connections,
    heartbeat,
    new Periodic({ name: 'lost nodes', everyMs: BEAT_MS, run: () => endLostNodes(lost), log }),
    new Periodic({ name: 'running calls', everyMs: RUNNING_MS, run: () => running.refresh(), log }),
    new Periodic({ name: 'SIP traces', everyMs: TRACES_MS, run: () => traceKeeper.run(media), log }),
    new Periodic({ name: 'lamps', everyMs: LAMPS_MS, run: () => subscriptions.look(media), log }),
    new Periodic({ name: 'lost messages', everyMs: STRAYS_MS, run: () => giveUpLost(store, now()), log }),
    new Periodic({ name: 'stray legs', everyMs: STRAYS_MS, run: () => strays.run(media), log }),
  ]

  /** Calls that a node without media takes could not be placed. */
  async function dialCampaigns(): Promise<void> {
    if (media.state === 'ready') await dialler.run()
  }

  async function changedByOthers(): Promise<void> {
    sendDue(store)
    await programs.takeGiven()
  }

  /** Listens before the first start makes keys: a busy port must not cost them. */
  async function listen(): Promise<number> {
    try {
      await app.listen({ host: config.httpHost, port: config.httpPort })
    } catch (error) {
      fail(describeListenError(error, config.httpHost, config.httpPort))
    }
    const address = app.server.address()
    return typeof address === 'object' && address !== null ? address.port : config.httpPort
  }

  const httpPort = await listen()
  const { organisationId, keys } = await firstStart(store, { live: config.liveKey, test: config.testKey }, now())
  await store.durable()
  for (const variable of await unknownKeys(store, {
    TANDEM_LIVE_KEY: config.liveKey,
    TANDEM_TEST_KEY: config.testKey,
  })) {
    log.warn({ variable }, 'is not a key of this installation: it is read on the first start only')
  }

  async function close(): Promise<void> {
    // A client that keeps its answer open does not keep us.
    setTimeout(() => app.server.closeAllConnections(), CLOSE_LIMIT_MS)
    await app.close()
    for (const part of [...periodic, media, programs]) await part.close()
    await copilot.idle()
    await deepPath.close()
    await meanings?.close()
    await centre.idle()
    await dispatcher.close()
    await jobs.close()
    await Promise.all(duties.map(duty => duty.close()))
    await asking.meter.idle()
    await store.close()
    process.exit(0)
  }
  process.once('message', () => void close())
  // They may go to all processes of a group or service; the supervisor alone decides what they mean.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit(0))

  process.send?.({ type: 'serving', httpPort, keys })
  for (const part of [media, ...periodic, dispatcher, jobs, ...duties]) part.start()
  for (let waited = 0; media.state !== 'ready' && waited < MEDIA_WAIT_MS; waited += POLL_MS) await sleep(POLL_MS)
  const numbers = await describeNumbers(store, { organisationId, livemode: true })
  const ready: ControlReady = { type: 'ready', httpPort, keys, numbers }
  process.send?.(ready)
  if (!config.warmUp) return
  await sleep(REHEARSAL_AFTER_MS)
  await rehearse(parts).catch((error: Error) => log.error({ err: error }, 'calls could not be rehearsed'))
}
