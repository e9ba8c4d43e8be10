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
import { nodeAddresses, publicUrlOf } from '../kernel/addresses.ts'
import { readConfig } from '../kernel/config/read.ts'
import type { Config } from '../kernel/config/settings.ts'
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

/** How long running requests may take once the process is to end [ms]. */
const CLOSE_LIMIT_MS = 3000
const POLL_MS = 20
/** Interval of looking for waits, wrap-ups and callbacks that have become due by time alone [ms]. */
const QUEUES_MS = 500
/** Interval of looking for changes of our calls by other nodes, which cannot wake us [ms]. */
const OTHERS_MS = 2000
/** Interval of the dialler [ms]. */
const CAMPAIGNS_MS = 250
/** Interval of looking for silence, monologues and due disclosures [ms]. */
const COPILOTS_MS = 1000
/** Interval of telling media of changed connections [ms]. */
const CONNECTIONS_MS = 1000
/** Interval of updating the lamps of phones [ms]. */
const LAMPS_MS = 300
/** Interval of reading the running calls: a newer call cannot be ended while the store is unavailable [ms]. */
const RUNNING_MS = 2000
/** Interval of looking for legs whose call has ended: half of the time that one may be left over [ms]. */
const STRAYS_MS = 15_000
/** Interval of fetching the SIP traces of ended legs [ms]. */
const TRACES_MS = 1000

/** Ends the process with the reason in one line. The supervisor starts a new one, or gives up if this was the first. */
function fail(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

function configuration(): Config {
  const read = readConfig(process.env)
  return 'errors' in read ? fail(read.errors.join('\n')) : read.config
}

/** The control process. Resolves once it serves calls. */
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
  /** Writes this node's heartbeat. If other nodes have taken it for lost and ended its calls, media has to hear of it. */
  async function beatOnce(): Promise<void> {
    if (media.state === 'ready' && (await beat(store, now(), nodeAddresses(config)))) media.reconnect()
  }

  const heartbeat = new Periodic({ name: 'heartbeat', everyMs: BEAT_MS, firstMs: 0, run: beatOnce, log })
  const isStoreAway = () => media.isStoreAway || heartbeat.isStoreAway
  const app = await buildApp({ ...parts, centre, copilot, asking, media, counters, isStoreAway, running })
  const connections = new Periodic({ name: 'connections', everyMs: CONNECTIONS_MS, run: () => keeper.run(media), log })
  // The new address may call at any moment, and must not be treated as a stranger's.
  store.committed.add(only([CONNECTION_CHANGED], () => connections.hurry()))
  const strays = new StrayLegs({ store, log })
  const traceKeeper = new TraceKeeper({ store })
  const lost = lostNodes(parts, centre)
  const dialler = buildDialler(parts)

  const periodic = [
    new Periodic({ name: 'campaigns', everyMs: CAMPAIGNS_MS, run: () => dialler.run(media), log }),
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

  async function changedByOthers(): Promise<void> {
    sendDue(store)
    await programs.takeGiven()
  }

  /** Listens before the first start creates keys, which would be lost if the port were busy. */
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
    // A client that keeps its response open must not keep the process.
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
  // These signals may go to all processes of a group or service, but only the supervisor acts on them.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit(0))

  process.send?.({ type: 'serving', httpPort, keys })
  for (const part of [media, ...periodic, dispatcher, jobs, ...duties]) part.start()
  // The first screen shows numbers to call: each must answer.
  while (media.state !== 'ready') await sleep(POLL_MS)
  // From now on the other nodes know it.
  await heartbeat.hurry()
  const numbers = await describeNumbers(store, { organisationId, livemode: true })
  const ready: ControlReady = { type: 'ready', httpPort, keys, numbers }
  process.send?.(ready)
  if (!config.warmUp) return
  await sleep(REHEARSAL_AFTER_MS)
  await rehearse(parts).catch((error: Error) => log.error({ err: error }, 'calls could not be rehearsed'))
}
