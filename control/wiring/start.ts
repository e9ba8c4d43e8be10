import { randomBytes } from 'node:crypto'
import { getPriority, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { LogOutput, MEDIA_FLAGS, putToStderr } from '../../media/protocol.ts'
import { httpPortError } from '../http/http-port.ts'
import { nodeAddresses, publicUrlOf } from '../kernel/addresses.ts'
import type { Config } from '../kernel/config/settings.ts'
import { lockDataDir, mediaSocketPath, prepareDataDir } from '../kernel/data-dir.ts'
import { makeLog } from '../kernel/log.ts'
import { PACKAGE_ROOT, VERSION } from '../kernel/package.ts'
import { openVault } from '../kernel/vault.ts'
import { banner, type ControlReady } from './banner.ts'
import { FirstScreen } from './first-screen.ts'
import { Supervisor } from './supervisor.ts'

/** Nice value of the product, so that calls do not wait for other programs. */
const NICE = -5
/**
 * How far control's nice value is above media's: an answer may wait until audio frames are sent. With a larger step, control would take
 * minutes to start on a busy machine.
 */
const CONTROL_BEHIND = 5

const built = (path: string): string => fileURLToPath(new URL(`dist/${path}`, PACKAGE_ROOT))

/** `tandem start`: runs the product until a signal ends it; resolves to the exit code. `env`: environment of the child processes. */
export async function start(config: Config, env: NodeJS.ProcessEnv): Promise<number> {
  // Closing a terminal sends SIGHUP too, which for a service means to reload its files: it does that anyway when it starts.
  const isAtTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)
  if (!isAtTerminal) process.on('SIGHUP', () => {})
  // Rotations of logs send these, after which Node would open its debugger, or end.
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => {})
  // Files that we write cannot be read by other users, in any directory.
  process.umask(process.umask() | 0o007)
  const lock = prepareDataDir(config.dataDir) ?? lockDataDir(config.dataDir)
  if ('error' in lock) return refuse(lock.error)
  comeForward()
  const { TANDEM_LIVE_KEY: _live, TANDEM_TEST_KEY: _test, ...envOfMedia } = env
  // Who has read the first screen may have closed it.
  process.stdout.on('error', () => {})
  const output = process.stderr.isTTY
    ? null
    : new LogOutput(putToStderr(), lines => log.warn({ lines }, 'log lines could not be written and were left out'))
  const log = await makeLog(config.logLevel, 'supervisor', output)
  const screen = new FirstScreen(text => void process.stdout.write(text))
  const supervisor = new Supervisor({
    dataDir: config.dataDir,
    drainSeconds: config.drainSeconds,
    media: {
      name: 'media',
      argv: [...MEDIA_FLAGS, built('media/main.js')],
      env: { UV_THREADPOOL_SIZE, ...envOfMedia, TANDEM_MEDIA_CONFIG: JSON.stringify(mediaConfig(config)) },
      envAgain: { TANDEM_MEDIA_RESTART: '1' },
      onNotice: type => {
        if (type === 'speech_ready') screen.speechReady()
      },
    },
    control: httpPort => ({
      name: 'control',
      // While calls keep the cores busy, waiting for V8's helper threads takes longer than collecting young garbage without them.
      argv: ['--no-parallel-scavenge', built('control/wiring/main.js')],
      nice: getPriority() + CONTROL_BEHIND,
      env: { ...THREADS, ...env, ...(httpPort === null ? {} : { TANDEM_HTTP_PORT: String(httpPort) }) },
      envAgain: { TANDEM_CONTROL_RESTART: '1' },
    }),
    onReady: ready => screen.show(banner(config, ready as unknown as ControlReady, VERSION)),
    log,
    output,
    now: () => performance.now(),
  })
  await supervisor.outliveOrphans()
  // Control would also notice, but only after media has begun to log.
  const busy = await httpPortError(config.httpHost, config.httpPort)
  if (busy !== null) return refuse(busy)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => supervisor.stop())
  process.on('SIGHUP', () => (isAtTerminal ? supervisor.stop() : supervisor.reload()))
  return supervisor.run().finally(async () => {
    await output?.settled()
    lock.release()
  })
}

/**
 * Of control and of media. Names are looked up on half of them: more than one organisation's webhooks may hold at once (`DeliveryShares`),
 * so that names whose servers do not answer hold up nobody else's webhooks, and in media neither streams nor calls.
 */
const UV_THREADPOOL_SIZE = '96'
// Hashing a PIN takes 16 MiB. With this setting glibc returns them at once; otherwise each thread would keep its own.
const THREADS = { UV_THREADPOOL_SIZE, MALLOC_MMAP_THRESHOLD_: String(1024 * 1024) }

/** Raises the priority of this process and its children, if the system allows it. A priority set by the operator stays. */
function comeForward(): void {
  if (getPriority() !== 0) return
  try {
    setPriority(NICE)
  } catch {
    // This process lacks the capability CAP_SYS_NICE.
  }
}

/** Prints the reason in one line; returns the exit code. */
export function refuse(line: string): number {
  process.stderr.write(`${line}\n`)
  return 1
}

/** Nodes with the same vault accept each other's challenges. If the vault is invalid, control reports it and ends. */
function nonceSecret(dataDir: string): string {
  try {
    return openVault(dataDir).derive('nonces of SIP')
  } catch {
    return randomBytes(32).toString('hex')
  }
}

const mediaConfig = (config: Config) => ({
  dataDir: config.dataDir,
  socketPath: mediaSocketPath(config.dataDir),
  sipHosts: config.sipHosts,
  sipPort: config.sipPort,
  sipTls:
    config.sipTlsCert === null || config.sipTlsKey === null
      ? null
      : { port: config.sipTlsPort, certFile: config.sipTlsCert, keyFile: config.sipTlsKey },
  stir: {
    signing:
      config.stirKey === null || config.stirCertUrl === null
        ? null
        : { keyFile: config.stirKey, certUrl: config.stirCertUrl },
    anchorsFile: config.stirAnchors,
  },
  allowedNetworks: config.allowPrivateUrls,
  wsPort: config.wsPort,
  wssPort: config.wssPort,
  sipWsOrigins: [new URL(publicUrlOf(config)).origin, ...config.sipWsOrigins],
  trustedProxies: config.trustedProxies,
  publicUrl: publicUrlOf(config),
  publicIps: config.publicIps,
  dnsServers: config.dnsServers,
  sipProxies: config.sipProxies,
  drachtio: config.drachtio,
  hep: config.hepTarget,
  rtpPorts: config.rtpPorts,
  rtpSockets: config.rtpSockets,
  warmsUp: config.warmUp,
  engineThreads: config.engineThreads,
  maxCalls: config.maxCalls,
  nonceSecret: nonceSecret(config.dataDir),
  node: nodeAddresses(config).sip,
  sessionSeconds: config.sipSessionSeconds,
  drainSeconds: config.drainSeconds,
  speech: {
    tts: {
      url: config.ttsUrl,
      key: config.ttsKey,
      model: config.ttsModel,
      voice: config.ttsVoice,
      voices: [config.ttsVoice, ...config.ttsVoices.map(({ name }) => name)],
      timeoutMs: config.speechTimeoutMs,
    },
    stt: { url: config.sttUrl, key: config.sttKey, model: config.sttModel, timeoutMs: config.speechTimeoutMs },
    preload: config.speechPreload,
  },
  logLevel: config.logLevel,
  version: VERSION,
})
