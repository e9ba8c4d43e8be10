import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { REHEARSAL_AFTER_MS } from '../../media/protocol.ts'
import { endLostNodes } from '../assistants/lost-nodes.ts'
import type { LivePrograms } from '../assistants/programs.ts'
import { CopilotDesktops } from '../browsers/copilot-desktop.ts'
import { RunningCalls } from '../calls/conductor/running-calls.ts'
import { StrayLegs } from '../calls/conductor/stray-legs.ts'
import { sendDue } from '../calls/steps/follow.ts'
import { TraceKeeper } from '../calls/tracing/trace-keeper.ts'
import type { ModelParts } from '../copilot/deep/answer.ts'
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
import type { Store } from '../kernel/store/store.ts'
import { openVault, type Vault } from '../kernel/vault.ts'
import { vaultFits } from '../kernel/vault-check.ts'
import { passageSearch } from '../knowledge/passage-search.ts'
import { MediaClient } from '../media-link/client.ts'
import { giveUpLost } from '../messages/delivery.ts'
import { forgetPhones } from '../queues/agents/shut-out.ts'
import { PhoneSubscriptions } from '../queues/agents/subscriptions.ts'
import type { CallCentre } from '../queues/call-centre.ts'
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

/** Ends the process with the reason in one line. The supervisor starts a new one, or gives up if this was the first. */
function fail(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

function configuration(): Config {
  const read = readConfig(process.env)
  return 'errors' in read ? fail(read.errors.join('\n')) : read.config
}

type Parts = Parameters<typeof buildDispatcher>[0] & { config: Config }

/** The key of stored secrets. */
async function vaultOf({ dataDir }: Config, store: Store): Promise<Vault> {
  try {
    const vault = openVault(dataDir)
    if (await vaultFits(store, vault)) return vault
  } catch (error) {
    return fail(`Cannot read the key of stored secrets (${(error as Error).message}).`)
  }
  return fail(
    `vault.key in ${dataDir} is not the key of this database's secrets: copy it from the database's first node, or from a backup.`,
  )
}

/** Listens for HTTP. @returns the port */
async function listen(app: FastifyInstance, { httpHost, httpPort }: Config): Promise<number> {
  try {
    await app.listen({ host: httpHost, port: httpPort })
  } catch (error) {
    fail(describeListenError(error, httpHost, httpPort))
  }
  const address = app.server.address()
  return typeof address === 'object' && address !== null ? address.port : httpPort
}

/** The copilot, and what a model and embeddings add to it. */
function buildCopilot(parts: Parts, asking: ModelParts) {
  const { store, config } = parts
  const feed = new Feed()
  const search = passageSearch(store.engine)
  const deepPath = new DeepPath({ ...parts, feed, search, ...asking })
  const vectors = embeddingsOf(config)
  const meanings = vectors === null ? null : new Meanings({ ...parts, feed, search, vectors, meter: asking.meter })
  const copilot = new Copilot({ ...parts, feed, vectors, search, closing: row => deepPath.closing(row) })
  return { feed, copilot, close: () => Promise.all([deepPath.close(), meanings?.close()]) }
}

interface Served extends Parts {
  centre: CallCentre
  programs: LivePrograms
  copilot: Copilot
  running: RunningCalls
  subscriptions: PhoneSubscriptions
  media: MediaClient
}

/** What is done again and again, because nothing tells when it is due. */
function periodicWork({ centre, programs, copilot, running, subscriptions, media, ...parts }: Served): Periodic[] {
  const { store, now, log } = parts
  const [strays, traces, lost] = [new StrayLegs({ store, log }), new TraceKeeper({ store }), lostNodes(parts, centre)]
  const dialler = buildDialler(parts)
  const every = (everyMs: number, name: string, run: () => Promise<unknown>) =>
    new Periodic({ name, everyMs, run, log })
  return [
    every(250, 'campaigns', () => dialler.run(media)),
    // Waits, wrap-ups and callbacks that become due by time alone.
    every(500, 'queues', () => centre.run(media)),
    // Other nodes' changes of our calls cannot wake us.
    every(2000, 'changed by others', async () => {
      sendDue(store)
      await programs.takeGiven()
    }),
    // Silence, monologues, disclosures that are due.
    every(1000, 'copilots', () => copilot.tick()),
    every(BEAT_MS, 'lost nodes', () => endLostNodes(lost)),
    // A newer call cannot be ended while the store is unavailable.
    every(2000, 'running calls', () => running.refresh()),
    every(1000, 'SIP traces', () => traces.run(media)),
    every(2000, 'phones that are gone', () => forgetPhones(store, media, now())),
    every(300, 'lamps', () => subscriptions.look(media)),
    every(15_000, 'lost messages', () => giveUpLost(store, now())),
    // Half of the time that a leg may be left over.
    every(15_000, 'stray legs', () => strays.run(media)),
  ]
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

  const parts = { store, config, now, log, vault: await vaultOf(config, store) }
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
  const { feed, copilot, ...deep } = buildCopilot(parts, asking)
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
  let hasBeaten = false
  /** Writes this node's heartbeat. If other nodes have taken it for lost and ended its calls, media has to hear of it. */
  async function beatOnce(): Promise<void> {
    if (media.state !== 'ready') return
    if (await beat(store, now(), nodeAddresses(config), hasBeaten)) media.reconnect()
    hasBeaten = true
  }

  const heartbeat = new Periodic({ name: 'heartbeat', everyMs: BEAT_MS, firstMs: 0, run: beatOnce, log })
  const isStoreAway = () => media.isStoreAway || heartbeat.isStoreAway
  const app = await buildApp({ ...parts, centre, copilot, asking, media, counters, isStoreAway, running })
  const connections = new Periodic({ name: 'connections', everyMs: 1000, run: () => keeper.run(media), log })
  // The new address may call at any moment, and must not be treated as a stranger's.
  store.committed.add(only([CONNECTION_CHANGED], () => connections.hurry()))
  const work = periodicWork({ ...parts, centre, programs, copilot, running, subscriptions, media })
  const periodic = [...work, connections, heartbeat]

  // Before the first start creates keys, which would be lost if the port were busy.
  const httpPort = await listen(app, config)
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
    await deep.close()
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
