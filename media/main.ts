import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import pino from 'pino'
import pretty from 'pino-pretty'
import { ulid } from 'ulid'
import { loadResampler } from '../codecs/resample.ts'
import { BrowserBoard } from './browsers/browser-board.ts'
import { BrowserServer } from './browsers/browser-server.ts'
import { Channel } from './channel/channel.ts'
import { CommandTable } from './channel/commands.ts'
import { EngineClient } from './engine/engine-client.ts'
import { advertisedHost, type MediaConfig, portRanges } from './kernel/config.ts'
import { logEvent } from './kernel/event-log.ts'
import type { MediaEvent, MediaStats } from './protocol.ts'
import { recoverRecordings } from './recordings/recording-writer.ts'
import { FarEnds } from './signalling/far-ends.ts'
import { REALM, Registrar } from './signalling/registrar.ts'
import { SipEndpoint } from './signalling/sip-endpoint.ts'
import { Switchboard } from './signalling/switchboard.ts'
import { SpeechHost } from './speech/speech-host.ts'
import { abilitiesOf } from './speech/speech-protocol.ts'

/** How long the last BYEs, recordings and events may take once all calls were told to end [ms]. */
const FAREWELL_MS = 3000

/** Ends the process with one line of reason; the supervisor starts a clean one, or gives up when it is the first. */
function fail(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

/** The certificate and its key; both must be there and fit each other before the first call comes. */
function readTls({ port, certFile, keyFile }: NonNullable<MediaConfig['sipTls']>) {
  try {
    const [cert, key] = [readFileSync(certFile), readFileSync(keyFile)]
    createSecureContext({ cert, key })
    return { port, cert, key }
  } catch (error) {
    return fail(`TANDEM_SIP_TLS_CERT and TANDEM_SIP_TLS_KEY cannot be used: ${(error as Error).message}`)
  }
}

const config = JSON.parse(
  process.env.TANDEM_MEDIA_CONFIG ?? fail('started without a supervisor; use "tandem start"'),
) as MediaConfig
mkdirSync(join(config.dataDir, 'recordings'), { recursive: true })
const host = advertisedHost(config)

const log = pino(
  { name: 'media', level: config.logLevel },
  process.stderr.isTTY
    ? pretty({ destination: 2, ignore: 'pid,hostname', singleLine: true })
    : pino.destination({ dest: 2, sync: false }),
)
const emit = (event: MediaEvent): void => {
  logEvent(log, event)
  channel.emit(event)
}
const speech = new SpeechHost(config.speech, log, engine => {
  if (engine === 'moonshine') process.send?.({ type: 'speech_ready' })
})
const engines = portRanges(config.rtpPorts, config.engineThreads).map(
  rtpPorts =>
    new EngineClient(
      {
        host: config.sipHost,
        rtpPorts,
        dataDir: config.dataDir,
        version: config.version,
        speech: { port: speech.port(), abilities: abilitiesOf(config.speech) },
      },
      {
        event: (event, thread) => {
          commands.note(event, thread)
          emit(event)
        },
        end: (legId, reason) => void commands.hangup({ legId, reason }),
        key: (legId, key, durationMs) => commands.sendKey(legId, key, durationMs),
        fault: (error, legIds) => log.error({ legIds, error }, 'a fault in an engine thread'),
        failed: error => fail(`engine thread failed: ${error.stack ?? error.message}`),
      },
    ),
)
const farEnds = new FarEnds({ emit })
const fault = (error: unknown, legId: string): void => log.error({ err: error, legId }, 'a fault in signalling')
const switchboard = new Switchboard({ engines, advertisedHost: host, maxCalls: config.maxCalls, farEnds, emit, fault })
const sip = new SipEndpoint({
  host: config.sipHost,
  port: config.sipPort,
  allowedNetworks: config.allowedNetworks,
  ...(config.sipTls === null ? {} : { tls: readTls(config.sipTls) }),
  advertisedHost: host,
  productName: `tandem/${config.version}`,
  optionsStatus: () => (switchboard.draining ? { status: 503, retryAfterS: 5 } : { status: 200 }),
  onEvent: event => switchboard.onSip(event),
  registrar: { realm: REALM, onRegister: register => registrar.onRegister(register) },
  onWatch: report => farEnds.onWatch(report),
})
switchboard.attach(sip)
const registrar = new Registrar({ emit })
registrar.attach(sip)
farEnds.attach(sip)
const now = (): number => performance.now()
const browsers = new BrowserBoard({ engines, emit, fault, createResampler: await loadResampler(), now })
const doors = new BrowserServer({
  host: config.sipHost,
  port: config.wsPort,
  trustedProxies: config.trustedProxies,
  publicUrl: config.publicUrl,
  now,
  hasRoom: () => !switchboard.draining && legCount() < config.maxCalls,
  connecting: body => emit({ name: 'browser.connecting', at: new Date().toISOString(), body }),
})
browsers.attach(doors)
const legCount = (): number => switchboard.lines.size + browsers.lines.size
const commands = new CommandTable({ switchboard, browsers, registrar, farEnds, engines, seq: () => channel.seq, stats })
const channel = new Channel(ulid(), (name, body) => commands.run(name, body))

/** Counters and gauges of the main thread; the engine threads add theirs. */
function stats(): MediaStats {
  const counters: Record<string, number> = {
    channel_events_lost_total: channel.eventsLost,
    channel_bad_messages_total: channel.badMessages,
    calls_refused_total: switchboard.refused,
    signalling_faults_total: switchboard.faults + browsers.faults,
    engine_commands_unanswered_total: engines.reduce((sum, engine) => sum + engine.unanswered, 0),
    registrations_refused_total: registrar.refused,
    ...speech.counters,
  }
  for (const [name, value] of Object.entries({ ...doors.counters, ...browsers.counters })) {
    counters[`browser_${snakeCase(name)}_total`] = value
  }
  counters.sip_messages_limited_total = sip.messagesLimited
  for (const [name, value] of Object.entries({ ...sip.agentCounters, ...sip.counters })) {
    counters[`sip_${snakeCase(name)}_total`] = value
  }
  return {
    counters,
    gauges: {
      legs: legCount(),
      browsers: browsers.browserIds.length,
      sip_sessions: sip.sessionCount,
      sip_watches: sip.watchCount,
      channel_events_waiting: channel.waiting,
      ...speech.gauges,
    },
  }
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/** What a crash left unfinished is made into files and announced like any other recording. */
async function announce(recovered: ReturnType<typeof recoverRecordings>): Promise<void> {
  const { ready, failed } = await recovered
  const at = new Date().toISOString()
  for (const body of ready) emit({ name: 'recording.ready', at, body })
  for (const body of failed) emit({ name: 'recording.failed', at, body })
}

/** Takes no new calls, lets the running ones finish up to the limit, then hangs up, and leaves when all is written. */
async function drain(): Promise<void> {
  if (switchboard.draining) return
  log.info({ legs: legCount(), limitSeconds: config.drainSeconds }, 'draining')
  switchboard.draining = true
  farEnds.close()
  const limit = performance.now() + config.drainSeconds * 1000
  while (legCount() > 0 && performance.now() < limit) await sleep(50)
  switchboard.hangupAll('media_failed')
  browsers.hangupAll('media_failed')
  browsers.closeAll()
  const farewell = performance.now() + FAREWELL_MS
  while (legCount() + sip.sessionCount + sip.watchCount > 0 && performance.now() < farewell) await sleep(20)
  await Promise.race([Promise.all(engines.map(engine => engine.close())), sleep(FAREWELL_MS)])
  while (channel.connected && channel.waiting > 0 && performance.now() < farewell + FAREWELL_MS) await sleep(20)
  process.exit(0)
}

// Looks at the directory before the first call can begin a new recording in it.
const recovery = recoverRecordings(config.dataDir)

try {
  await sip.listen()
} catch (error) {
  const { code } = error as NodeJS.ErrnoException
  fail(
    code === 'EADDRINUSE'
      ? `SIP port ${config.sipPort} on ${config.sipHost} is taken by another program: stop it, or set TANDEM_SIP_PORT to a free port`
      : `cannot listen for SIP on ${config.sipHost}:${config.sipPort} (${code}): set TANDEM_SIP_HOST to an address of this machine`,
  )
}
try {
  await doors.listen()
} catch (error) {
  const { code } = error as NodeJS.ErrnoException
  fail(
    code === 'EADDRINUSE'
      ? `WebSocket port ${config.wsPort} on ${config.sipHost} is taken by another program: stop it, or set TANDEM_WS_PORT to a free port`
      : `cannot listen for browsers on ${config.sipHost}:${config.wsPort} (${code}): set TANDEM_WS_PORT to a port that you may use`,
  )
}
await channel.listen(config.socketPath)
void announce(recovery)

process.on('SIGTERM', () => void drain())
// Ctrl-C goes to the whole process group; the supervisor alone decides what it means.
process.on('SIGINT', () => {})
process.on('disconnect', () => process.exit(0))
log.info({ host: config.sipHost, port: config.sipPort, wsPort: config.wsPort, threads: engines.length }, 'listening')
process.send?.({ type: 'ready' })
