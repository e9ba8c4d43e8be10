import './event-catalog.ts'
import type { LostNodeParts } from '../assistants/lost-nodes.ts'
import { endLostPrograms } from '../assistants/lost-programs.ts'
import { audioPath, sweepAudio } from '../audio/files.ts'
import { sweepTokens } from '../browsers/client-token.ts'
import { Devices } from '../browsers/devices.ts'
import { expireCallbacks, tellMissed } from '../callbacks/store.ts'
import { summaryHandler } from '../callbacks/summary.ts'
import { onCallTold } from '../callbacks/want-summary.ts'
import { onConsent } from '../calls/capture/consent-changed.ts'
import { sweepRecordings } from '../calls/capture/recording-files.ts'
import { CallDriver, type CallPrograms } from '../calls/conductor/driver.ts'
import { endAll, endRecordings } from '../calls/conductor/end-all.ts'
import { Dialler } from '../campaigns/dialler.ts'
import { onCampaignCall } from '../campaigns/follow-calls.ts'
import type { ModelParts } from '../copilot/deep/answer.ts'
import { Feed } from '../copilot/sessions/feed.ts'
import { onSpokenRefusal } from '../do-not-call/by-word.ts'
import { sweepListed } from '../do-not-call/list.ts'
import { sweepSimulations } from '../flows/simulation-store.ts'
import { ATTEMPT_LEASE_MS, forgetAttempts, renewAttempts } from '../http/idempotency.ts'
import { queueSunsetMails } from '../http/versions/sunset-mails.ts'
import { sweepStreams } from '../http/wire/open-streams.ts'
import { forgetRequests } from '../http/wire/request-log.ts'
import { sweepBudgets } from '../http/wire/shared-rates.ts'
import { sweepImports } from '../imports/pieces.ts'
import { importHandler } from '../imports/run-job.ts'
import { publicUrlOf, sipHostOf } from '../kernel/addresses.ts'
import { forgetRows } from '../kernel/jobs/forget.ts'
import { JobRunner } from '../kernel/jobs/runner.ts'
import { mailHandler } from '../kernel/mail/job.ts'
import { Beats } from '../kernel/nodes/heartbeat.ts'
import { Periodic } from '../kernel/periodic.ts'
import { forgetHandler } from '../knowledge/forget-job.ts'
import { passageSearch } from '../knowledge/passage-search.ts'
import { writers } from '../models/writer.ts'
import { organisationSettings } from '../organisation/routes.ts'
import { judgeHandler } from '../quality/evaluation/judge-job.ts'
import { InsightDays } from '../quality/insights/build-days.ts'
import { reviewHandler } from '../quality/review-job.ts'
import { onCallOver } from '../quality/want-review.ts'
import { devicesOf } from '../queues/agents/devices.ts'
import { PhoneSubscriptions } from '../queues/agents/subscriptions.ts'
import { CallCentre } from '../queues/call-centre.ts'
import type { CallCentreParts } from '../queues/deps.ts'
import { followDevices } from '../queues/presence.ts'
import { reportRunHandler } from '../reports/run-job.ts'
import { startScheduledRuns } from '../reports/schedule.ts'
import { sweepReports } from '../reports/sweep.ts'
import type { RetentionDuty } from '../retention/duty.ts'
import { notesHandler, onTranscriptTold } from '../rooms/session-notes.ts'
import { ConnectionKeeper } from '../trunks/keeper.ts'
import { WebhookDispatcher } from '../webhooks/dispatcher.ts'
import { httpPost } from '../webhooks/http-post.ts'
import { IMPORT_TARGETS } from './import-targets.ts'
import { type AppParts, clockOf, loopbackOf, mailerOf, streamDeps } from './parts.ts'
import { askingBy, modelsOf } from './wire-programs.ts'

/** Intervals of periodic work. */
const SHORT_DUTY_MS = 30_000
const LONG_DUTY_MS = 60 * 60 * 1000

/** Queues, agents and callbacks. `run` is to be called regularly, for what becomes due by time alone. */
export function buildCallCentre(
  { store, vault, now, log, config }: Pick<AppParts, 'store' | 'vault' | 'config' | 'now' | 'log'>,
  led: Pick<CallCentreParts, 'handOver' | 'led'> = { handOver: async () => false },
): CallCentre {
  store.within
    .add(onCallTold)
    .add(onTranscriptTold)
    .add(onCallOver)
    .add(onCampaignCall({ devicesOf }))
    .add(onSpokenRefusal)
    .add(onConsent)
  return new CallCentre({
    store,
    vault,
    now,
    log,
    sipHost: sipHostOf(config),
    loopback: loopbackOf(config),
    devicesOf,
    followDevices,
    streams: streamDeps(config),
    businessHoursOf: async (db, tenant) => (await organisationSettings(db, tenant)).businessHours,
    booking: { now, settings: organisationSettings },
    assetFile: id => audioPath(config.dataDir, id),
    ...led,
  })
}

/** Tells media where to register and which far ends to monitor; `run` is called periodically. */
export const buildKeeper = (parts: Pick<AppParts, 'store' | 'vault' | 'config' | 'now' | 'log'>): ConnectionKeeper =>
  new ConnectionKeeper({ ...parts, sipHost: sipHostOf(parts.config) })

/** Turns media's events into rows, events and commands. */
export function buildDriver(
  parts: Pick<AppParts, 'store' | 'config' | 'vault' | 'now' | 'log' | 'centre'> & {
    programs?: CallPrograms
    keeper?: ConnectionKeeper
    feed?: Feed
    asking?: ModelParts
    subscriptions?: PhoneSubscriptions
  },
): CallDriver {
  const {
    store,
    vault,
    now,
    log,
    config,
    centre = buildCallCentre(parts),
    programs,
    keeper,
    feed = new Feed(),
    asking = askingBy(parts),
    subscriptions = new PhoneSubscriptions(store),
  } = parts
  const devices = new Devices({
    ...{ store, vault, now, log, centre, feed, subscriptions },
    ...asking,
    search: passageSearch(store.engine),
    booking: { now, settings: organisationSettings },
    sipHost: sipHostOf(config),
    publicUrl: publicUrlOf(config),
    timezoneOf: clockOf,
    devicesOf,
  })
  const led = { ...(programs === undefined ? {} : { programs }), ...(keeper === undefined ? {} : { keeper }) }
  const assetFile = (id: string) => audioPath(config.dataDir, id)
  return new CallDriver({ store, vault, now, log, streams: streamDeps(config), assetFile, devices, centre, ...led })
}

/** Delivers events to webhook endpoints; to be started, and closed before the store. */
export function buildDispatcher(
  parts: Pick<AppParts, 'store' | 'config' | 'vault' | 'now' | 'log'>,
): WebhookDispatcher {
  const allowedNetworks = parts.config.allowPrivateUrls
  return new WebhookDispatcher({ ...parts, allowedNetworks, random: Math.random, post: httpPost })
}

/** Runs jobs of the database; to be started, and closed before the store. */
export function buildJobs(parts: Omit<AppParts, 'media'>): JobRunner {
  const { store, config, vault, now, log } = parts
  const { models, meter } = parts.asking ?? askingBy(parts)
  const sendMail = mailerOf(config)
  return new JobRunner({
    store,
    now,
    log,
    handlers: {
      'callback.summary': summaryHandler({ store, now, writerFor: writers(modelsOf(config)) }),
      'conference.notes': notesHandler({ store, now, log, writerFor: writers(modelsOf(config)) }),
      'call.review': reviewHandler({ store, now, models, meter }),
      'call.judge': judgeHandler({ store, now, models, meter }),
      'report.run': reportRunHandler({ store, now, sendMail }),
      'rows.forget': forgetRows(store),
      'kb.forget': forgetHandler(store, passageSearch(store.engine)),
      'import.run': importHandler({ store, now, targets: IMPORT_TARGETS }),
      // Without a mail server, mails wait for one.
      ...(sendMail === null ? {} : { mail: mailHandler({ vault, sendMail, log }) }),
    },
  })
}

/** Periodic work; to be started, and closed before the store. */
export function buildDuties(
  { store, config, vault, now, log }: Omit<AppParts, 'media'>,
  retention: Pick<RetentionDuty, 'run'>,
): Periodic[] {
  const { dataDir } = config
  const duty = (name: string, everyMs: number, run: () => Promise<unknown>) =>
    new Periodic({ name, everyMs, firstMs: Math.min(everyMs, SHORT_DUTY_MS), run, log })
  const sunset = { store, vault, now, log, publicUrl: publicUrlOf(config) }
  const insightDays = new InsightDays({ store, now, timezoneOf: clockOf })
  return [
    duty('idempotency leases', ATTEMPT_LEASE_MS / 4, () => renewAttempts(store, now())),
    duty('idempotent answers', SHORT_DUTY_MS, () => forgetAttempts(store, now())),
    duty('request logs', LONG_DUTY_MS, () => forgetRequests(store, now())),
    duty('callback expiry', SHORT_DUTY_MS, () => expireCallbacks(store, now())),
    duty('do-not-call list', SHORT_DUTY_MS, () => sweepListed(store, now())),
    duty('missed callbacks', SHORT_DUTY_MS, () => tellMissed(store, now())),
    duty('report schedules', SHORT_DUTY_MS, () => startScheduledRuns(store, now())),
    duty('insight days', SHORT_DUTY_MS, () => insightDays.run()),
    duty('client tokens', LONG_DUTY_MS, () => sweepTokens(store, now())),
    duty('simulations', SHORT_DUTY_MS, () => sweepSimulations(store, now())),
    duty('request budgets', LONG_DUTY_MS, () => sweepBudgets(store.db, now())),
    duty('open streams', LONG_DUTY_MS, () => sweepStreams(store.db, now())),
    duty('import files', LONG_DUTY_MS, () => sweepImports(store.db, now())),
    duty('report files', LONG_DUTY_MS, () => sweepReports({ store, now })),
    duty('retention', LONG_DUTY_MS, () => retention.run()),
    duty('recording files', LONG_DUTY_MS, () => sweepRecordings(store.db, dataDir, now())),
    duty('audio files', LONG_DUTY_MS, () => sweepAudio(store.db, dataDir, now())),
    ...(mailerOf(config) === null ? [] : [duty('sunset mails', LONG_DUTY_MS, () => queueSunsetMails(sunset))]),
  ]
}

/** Places the calls of campaigns; `run` is called periodically while media is connected. */
export const buildDialler = ({ store, now, log }: Pick<AppParts, 'store' | 'now' | 'log'>): Dialler =>
  new Dialler({ store, now, log, devicesOf, timezoneOf: clockOf })

/** Ends the calls of lost nodes; `centre` frees their agents. */
export const lostNodes = (
  { store, vault, now, log }: Pick<AppParts, 'store' | 'vault' | 'now' | 'log'>,
  centre: CallCentre,
): LostNodeParts => ({
  store,
  now,
  log,
  beats: new Beats(),
  endAll: async (db, at, step) => {
    await endAll(db, centre, { reason: 'node_lost', at }, step)
    await endRecordings(db, at, step)
    await endLostPrograms(vault, db, at, run => step(null, run))
  },
  guard: (legId, at, run) => centre.faults.endingAt(at).guard(legId, null, run),
})
