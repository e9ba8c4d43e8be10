import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { ulid } from 'ulid'
import { loadResampler } from '../codecs/resample.ts'
import { BrowserBoard } from './browsers/browser-board.ts'
import { BrowserServer } from './browsers/browser-server.ts'
import { PageLinks } from './browsers/page-links.ts'
import { PageWays } from './browsers/page-ways.ts'
import { Channel } from './channel/channel.ts'
import { CommandTable } from './channel/commands.ts'
import { type MediaConfig, portRanges } from './config.ts'
import { newClockFace, readClockFaces } from './engine/clock.ts'
import { EngineClient } from './engine/engine-client.ts'
import { Threads } from './engine/threads/threads.ts'
import { type Identities, identitiesOf } from './identity/identities.ts'
import { busySeconds } from './kernel/busy-time.ts'
import { CredentialFiles } from './kernel/credential-files.ts'
import { DialledLegs } from './kernel/dialled-legs.ts'
import { logEvent } from './kernel/event-log.ts'
import { heapGauges } from './kernel/heap-gauges.ts'
import { fileGauges, filesFor, LEAST_FILES, openFilesLimit } from './kernel/open-files.ts'
import { OwnAddresses } from './kernel/own-addresses.ts'
import { loadHandOver } from './kernel/thread-priority.ts'
import { NO_TLS, type TlsCredential, tlsCredential } from './kernel/tls-files.ts'
import { isFailure, type MediaEvent, type MediaStats, REHEARSAL_AFTER_MS, RefusalLog } from './protocol.ts'
import { InterruptedRecordings } from './recordings/interrupted-recordings.ts'
import { chooseDoors } from './rtp/datagrams/choose.ts'
import { newDescriptorList } from './rtp/datagrams/own-descriptors.ts'
import { LOOK_MS } from './signalling/admission.ts'
import { SipEndpoint } from './signalling/endpoint/sip-endpoint.ts'
import { FarEnds } from './signalling/far-ends.ts'
import { Names } from './signalling/names.ts'
import { Phones } from './signalling/phones.ts'
import { REALM, Registrar } from './signalling/registrar.ts'
import { rehearse } from './signalling/rehearsal.ts'
import { Switchboard } from './signalling/switchboard.ts'
import { TraceDesk } from './signalling/trace-desk.ts'
import { SpeechClient } from './speech/speech-client.ts'
import { SpeechHost } from './speech/speech-host.ts'
import { abilitiesOf } from './speech/speech-protocol.ts'
import { HepSender } from './tracing/hep-sender.ts'
import { Tracer } from './tracing/tracer.ts'
import { fingerprintOf, makeCertificate } from './webrtc/certificate.ts'

/** How long the last BYEs, recordings and events may take once all calls were told to end [ms]. */
const FAREWELL_MS = 3000
/** A second signal: running calls are not waited for any more. */
let isHurried = false

/** How often it is looked whether certificates and keys have changed [ms]. */
const LOOK_EVERY_MS = 15_000

const now = (): number => performance.now()

/** Ends the process with one line of reason; the supervisor starts a clean one, or gives up when it is the first. */
function fail(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

/** When the process is started again under running services, one file that cannot be used must not keep all else down. */
const isRestart = process.env.TANDEM_MEDIA_RESTART !== undefined

/** The certificate and its key; both must be there and fit each other before the first call comes. New ones serve new connections. */
function readTls({ certFile, keyFile }: NonNullable<MediaConfig['sipTls']>) {
  try {
    return credentials.watch<Partial<TlsCredential> & { expiresAt: number | null }>({
      name: 'sip_tls_certificate',
      files: [certFile, keyFile],
      read: tlsCredential,
      use: ({ cert, key }) => {
        if (cert === undefined || key === undefined) return
        sip.renewTls({ cert, key })
        doors.renewTls({ cert, key })
      },
      instead: isRestart ? NO_TLS : undefined,
    })
  } catch (error) {
    return fail(`TANDEM_SIP_TLS_CERT and TANDEM_SIP_TLS_KEY cannot be used: ${(error as Error).message}`)
  }
}

/** Signs calls and verifies their signatures; null: none. */
function readIdentities({ stir, allowedNetworks }: MediaConfig): Identities {
  try {
    return identitiesOf({ ...stir, allowedNetworks }, { credentials, isRestart, now, timeOfDay: Date.now })
  } catch (error) {
    return fail(`TANDEM_STIR_KEY or TANDEM_STIR_TRUST_ANCHORS cannot be used: ${(error as Error).message}`)
  }
}

const config = JSON.parse(
  process.env.TANDEM_MEDIA_CONFIG ?? fail('started without a supervisor; use "tandem start"'),
) as MediaConfig
const files = openFilesLimit()
if (files !== null && files < LEAST_FILES)
  fail(`Only ${files} files may be open: raise the limit (ulimit -n, LimitNOFILE) to ${filesFor(config.maxCalls)}`)
mkdirSync(join(config.dataDir, 'recordings'), { recursive: true })
const addresses = new OwnAddresses(config.sipHosts, config.publicIps)

const log = pino(
  { name: 'media', level: config.logLevel },
  process.stderr.isTTY
    ? (await import('pino-pretty')).default({ destination: 2, ignore: 'pid,hostname', singleLine: true })
    : pino.destination({ dest: 2, sync: false }),
)
const credentials = new CredentialFiles({ log, now: Date.now })
process.on('SIGHUP', () => void credentials.look())
setInterval(() => void credentials.look(), LOOK_EVERY_MS).unref()
const { hep } = config
const hepSender = hep === null ? null : new HepSender(hep)
const tracer = new Tracer(hep === null || hepSender === null ? null : { agent: hep, sink: hepSender })
const emit = (event: MediaEvent): void => {
  logEvent(log, event)
  channel.emit(event)
}
const handOver = await loadHandOver()
const speech = new SpeechHost(
  config.speech,
  log,
  engine => {
    if (engine === 'moonshine') process.send?.({ type: 'speech_ready' })
  },
  handOver,
)
/** Browsers know us by it; it lasts as long as this process. */
const certificate = makeCertificate(Date.now())
const fingerprint = fingerprintOf(certificate.certificate, 'sha-256')
const clockFaces = Array.from({ length: config.engineThreads }, newClockFace)
const engines = portRanges(config.rtpPorts, config.engineThreads).map(
  (rtpPorts, index) =>
    new EngineClient(
      () => ({
        rtpPorts,
        rtpSockets: config.rtpSockets,
        warmsUp: config.warmsUp,
        place: { index, count: config.engineThreads },
        dataDir: config.dataDir,
        version: config.version,
        certificate,
        tellsReports: hep !== null,
        clockFace: clockFaces[index]!,
        descriptors: newDescriptorList(),
        speech: { port: speech.port(), abilities: abilitiesOf(config.speech) },
      }),
      {
        event: event => {
          threads.note(event, index)
          emit(event)
        },
        own: event => {
          threads.note(event, index)
          logEvent(log, event)
        },
        cross: message => threads.cross(message),
        over: (kind, id) => commands.over(kind, id),
        end: (legId, reason) => void commands.hangup({ legId, reason }),
        quiet: legId => switchboard.checkPresence(legId),
        key: (legId, key, durationMs) => commands.sendKey(legId, key, durationMs),
        report: report => {
          const line = switchboard.lines.get(report.legId)
          if (line?.own == null) return
          const { host, port, ...rest } = report
          tracer.rtcp({ ...rest, remote: { host, port }, local: { host: line.own.advertised, port: line.port } })
        },
        fault: (error, legIds) => log.error({ legIds, error }, 'a fault in an engine thread'),
        sockets: (kind, problem) => log.info({ kind, ...(problem === null ? {} : { problem }) }, 'RTP sockets'),
        handOver,
        died: error => void threadDied(index, error),
        failed: error => fail(`engine thread failed: ${error.stack ?? error.message}`),
      },
    ),
)
const threads = new Threads(engines, now)
const tls = config.sipTls === null ? null : readTls(config.sipTls)
const farEnds = new FarEnds({ emit })
const fault = (error: unknown, legId: string): void => log.error({ err: error, legId }, 'a fault in signalling')
const { trace } = tracer
const { signer, verifier } = readIdentities(config)
/** By the time of day, which other nodes have as well. */
const nonceKey = { secret: config.nonceSecret, timeOfDay: Date.now }
const dialled = new DialledLegs({
  path: join(config.dataDir, 'dialled-legs'),
  isLive: legId => switchboard.lines.has(legId),
  broke: error => log.error({ err: error }, 'dialled legs cannot be noted'),
})
const switchboard = new Switchboard({
  threads,
  addresses,
  maxCalls: config.maxCalls,
  farEnds,
  trace,
  emit,
  fault,
  fingerprint,
  signer,
  verifier,
  nonceKey,
  refusals: new RefusalLog(log, 'call'),
  dialled,
  lateness: {
    controlSince: () => channel.connectedSince,
    isControlAwaited: () => channel.isAwaited,
    clocks: () => readClockFaces(clockFaces),
    legs: () => legCount(),
  },
})
const traces = new TraceDesk({ trace, lines: switchboard.lines })
const { open: openUdp, problem: udpProblem } = await chooseDoors(config.rtpSockets)
if (udpProblem !== null) log.info({ problem: udpProblem }, "SIP's UDP sockets are Node's")
const sip = new SipEndpoint({
  addresses,
  port: config.sipPort,
  openUdp,
  names: new Names(config.dnsServers),
  allowedNetworks: config.allowedNetworks,
  proxies: config.sipProxies,
  ...(tls === null || config.sipTls === null ? {} : { tls: { ...tls, port: config.sipTls.port } }),
  ...(config.drachtio === null ? {} : { drachtio: config.drachtio }),
  productName: `tandem/${config.version}`,
  ...(config.sessionSeconds === 0 ? {} : { sessionExpiresS: config.sessionSeconds }),
  optionsStatus: () => (switchboard.draining || channel.isAwaited ? { status: 503, retryAfterS: 5 } : { status: 200 }),
  inviteDoor: invite => switchboard.atTheDoor(invite),
  takesKeys: sessionId => switchboard.takesKeys(sessionId),
  onEvent: event => switchboard.onSip(event),
  registrar: { realm: REALM, onRegister: register => registrar.onRegister(register) },
  phones: {
    onAsk: ask => phones.onAsk(ask),
    onUnsubscribed: id => phones.onUnsubscribed(id),
    onMessage: report => phones.onMessage(report),
  },
  nonceKey,
  node: config.node,
  onWatch: report => farEnds.onWatch(report),
  webSocket: { wsPort: config.wsPort, wssPort: config.wssPort ?? config.wsPort },
  onGone: peer => registrar.onGone(peer),
  onMessage: (bytes, isSent, peer, local) => tracer.sip(bytes, isSent, peer, local),
})
switchboard.attach(sip)
const registrar = new Registrar({ emit })
registrar.attach(sip)
const phones = new Phones({ emit })
phones.attach(sip)
farEnds.attach(sip)
const links = new PageLinks({ secret: config.nonceSecret, now: Date.now })
const browsers = new BrowserBoard({
  threads,
  links,
  emit,
  fault,
  createResampler: await loadResampler(),
  now,
  ways: new PageWays({ addresses, fingerprint }),
})
const doors = new BrowserServer({
  hosts: addresses.all.map(({ host }) => host),
  port: config.wsPort,
  trustedProxies: config.trustedProxies,
  publicUrl: config.publicUrl,
  now,
  hasRoom: use => legCount() < config.maxCalls && switchboard.takesPage(use),
  connecting: body => emit({ name: 'browser.connecting', at: new Date().toISOString(), body }),
  ...(tls === null || config.wssPort === null ? {} : { tls: { ...tls, port: config.wssPort } }),
  link: token => {
    const asked = links.asked(token)
    return asked === null ? 404 : browsers.lend(asked)
  },
  sip: {
    origins: config.sipWsOrigins,
    hasRoom: host => sip.hasRoomForWebSocket(host),
    accept: upgrade => sip.acceptWebSocket(upgrade),
  },
})
browsers.attach(doors)
const legCount = (): number => switchboard.lines.size + browsers.lines.size
// Not before all that it asks is there: on a busy machine what was awaited above takes longer than this.
setInterval(() => switchboard.lookAtClocks(), LOOK_MS).unref()
const commands = new CommandTable({
  switchboard,
  browsers,
  registrar,
  phones,
  farEnds,
  traces,
  threads,
  speech: new SpeechClient(speech.port(), abilitiesOf(config.speech)),
  seq: () => channel.seq,
  unfinished: () => interrupted.ids,
  stats,
})
const channel = new Channel(ulid(), (name, body) => commands.run(name, body), dialled.before)

/** Counters and gauges of the main thread; the engine threads add theirs. */
function stats(): MediaStats {
  const counters: Record<string, number> = {
    channel_events_lost_total: channel.eventsLost,
    channel_bad_messages_total: channel.badMessages,
    calls_refused_total: switchboard.refused,
    signalling_faults_total: switchboard.faults + browsers.faults,
    engine_commands_unanswered_total: engines.reduce((sum, engine) => sum + engine.unanswered, 0),
    engine_thread_restarts_total: engines.reduce((sum, engine) => sum + engine.restarts, 0),
    registrations_refused_total: registrar.refused,
    sip_trace_messages_dropped_total: trace.counters.messagesDropped,
    sip_trace_legs_dropped_total: trace.counters.legsDropped,
    hep_packets_sent_total: hepSender?.counters.packetsSent ?? 0,
    hep_packets_dropped_total: hepSender?.counters.packetsDropped ?? 0,
    phone_requests_refused_total: phones.refused,
    ...speech.counters,
  }
  for (const [name, value] of Object.entries({ ...doors.counters, ...browsers.counters })) {
    counters[`browser_${snakeCase(name)}_total`] = value
  }
  counters.sip_messages_limited_total = sip.messagesLimited
  counters.sip_datagrams_dropped_total = sip.datagramsDropped
  counters.sip_strangers_refused_total = switchboard.strangersRefused
  for (const [name, value] of Object.entries(credentials.counters)) counters[`${snakeCase(name)}_total`] = value
  for (const [name, value] of Object.entries({ ...sip.agentCounters, ...sip.counters })) {
    counters[`sip_${snakeCase(name)}_total`] = value
  }
  counters.main_busy_seconds_total = busySeconds()
  return {
    counters,
    gauges: {
      draining: switchboard.draining ? 1 : 0,
      legs: legCount(),
      browsers: browsers.browserIds.length,
      sip_sessions: sip.sessionCount,
      sip_transactions: sip.transactionCount,
      sip_watches: sip.watchCount,
      sip_traces: trace.size,
      channel_events_waiting: channel.waiting,
      resident_bytes: process.memoryUsage.rss(),
      ...fileGauges(),
      ...heapGauges('main'),
      ...credentials.gauges,
      ...speech.gauges,
    },
    histograms: {},
  }
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/** Another engine thread is being started in its place: the legs that had their audio there end, and whatever listened to them. */
async function threadDied(thread: number, error: Error): Promise<void> {
  const legIds = threads.lost(thread)
  log.error({ thread, legs: legIds.length, err: error }, 'an engine thread died: its calls are over')
  const recovery = interrupted.ofThread(runningRecordings)
  await commands.lost(threads.all[thread]!, legIds)
  // Of its rooms, streams and pauses, nothing else tells that they are gone.
  channel.compare()
  await recovery
}

/** The recordings of all engine threads; null: not all of them have answered. */
async function runningRecordings(): Promise<string[] | null> {
  const replies = await Promise.all(threads.all.map(engine => engine.request('engine.snapshot', {})))
  const parts = replies.flatMap(reply => (isFailure(reply) ? [] : [reply.recordings]))
  return parts.length < replies.length ? null : parts.flat().map(({ recordingId }) => recordingId)
}

/** Takes no new calls, lets the running ones finish up to the limit, then hangs up, and leaves when all is written. Called again, it hangs up. */
async function drain(): Promise<void> {
  if (switchboard.draining) {
    isHurried = true
    return
  }
  log.info({ legs: legCount(), limitSeconds: config.drainSeconds }, 'draining')
  switchboard.drain()
  channel.drain()
  farEnds.close()
  const limit = performance.now() + config.drainSeconds * 1000
  while (legCount() > 0 && !isHurried && performance.now() < limit) await sleep(50)
  switchboard.hangupAll('shutdown')
  browsers.hangupAll('shutdown')
  browsers.closeAll()
  const farewell = performance.now() + FAREWELL_MS
  while (legCount() + sip.sessionCount + sip.watchCount > 0 && performance.now() < farewell) await sleep(20)
  await Promise.race([Promise.all(engines.map(engine => engine.close())), sleep(FAREWELL_MS)])
  while (channel.connected && channel.waiting > 0 && performance.now() < farewell + FAREWELL_MS) await sleep(20)
  await Promise.race([channel.leave(), sleep(FAREWELL_MS)])
  process.exit(0)
}

const hosts = config.sipHosts.join(', ')

const interrupted = new InterruptedRecordings({
  dataDir: config.dataDir,
  emit,
  over: recordingId => commands.over('recording', recordingId),
})
const announceInterrupted = interrupted.ofLastProcess()

// Nobody calls before the threads of the audio are ready for it.
await Promise.all(engines.map(engine => engine.ready))
try {
  await sip.listen()
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  if (config.drachtio !== null)
    fail(`${message}: start it, or set TANDEM_DRACHTIO_URL to its address and secret, or leave it unset`)
  fail(
    code === 'EADDRINUSE'
      ? `SIP port ${config.sipPort} on ${hosts} is taken by another program: stop it, or set TANDEM_SIP_PORT to a free port`
      : `Cannot listen for SIP on ${hosts}, port ${config.sipPort} (${code}): set ${code === 'EACCES' ? 'TANDEM_SIP_PORT to a port that you may use' : 'TANDEM_SIP_HOST to an address of this machine'}`,
  )
}
try {
  await doors.listen()
} catch (error) {
  const { code } = error as NodeJS.ErrnoException
  fail(
    code === 'EADDRINUSE'
      ? `WebSocket port ${config.wsPort} on ${hosts} is taken by another program: stop it, or set TANDEM_WS_PORT to a free port`
      : `Cannot listen for browsers on ${hosts}, port ${config.wsPort} (${code}): set TANDEM_WS_PORT to a port that you may use`,
  )
}
await channel.listen(config.socketPath)
void announceInterrupted()

process.on('message', () => void drain())
// They may go to all processes of a group or service; the supervisor alone decides what they mean.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
process.on('disconnect', () => process.exit(0))
log.info({ hosts: config.sipHosts, port: config.sipPort, wsPort: config.wsPort, threads: engines.length }, 'listening')
const wantedFiles = filesFor(config.maxCalls)
if (files !== null && files < wantedFiles)
  log.warn(
    { limit: files, wanted: wantedFiles, maxCalls: config.maxCalls },
    'too few files may be open for so many calls: raise the limit (ulimit -n, LimitNOFILE), or lower TANDEM_MAX_CALLS',
  )
process.send?.({ type: 'ready' })
await sleep(REHEARSAL_AFTER_MS)
if (config.warmsUp) rehearse().catch(error => log.error({ err: error }, 'calls could not be rehearsed'))
