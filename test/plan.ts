/** What the test command knows about test files before it runs them. Paths are relative to `test/`. */
import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('.', import.meta.url)

/** The longest files, in the order in which they begin: before all others, so that the last to begin are short. */
const LONG = [
  'control/conformance/answers',
  'control/conformance/properties',
  'control/campaigns/killed',
  'control/copilot/fast-path-model',
  'control/webhooks/killed',
  'control/wiring/cli',
  'control/conformance/deaths',
  'media/speech/offline',
  'control/audio/audio-assets',
  'control/queues/hour',
  'control/kernel/store/full-disk',
  'control/conformance/parameters',
  'control/http/pages/openapi',
  'control/kernel/jobs/killed',
  'media/streams/stream-stall-sockets',
  'media/speech/labelled-calls',
  'media/rtp/jitter',
  'media/recordings/recording-writer',
  'control/calls/conductor/pin',
  'sip/second-opinion',
  'interop/trunk-hosts',
  'interop/sessions/refresh',
  'e2e/payments/pin',
  'interop/sessions/session',
  'interop/fax-tones',
  'e2e/signalling/signalling',
  'interop/drachtio',
  'e2e/engine-threads',
  'e2e/room',
  'e2e/signalling/phones',
  'interop/nodes/two-nodes',
  'e2e/payments/pause-digits',
  'interop/phone-calls',
  'e2e/deaths/payment-killed',
  'interop/linphone',
  'e2e/payments/pause-others',
  'e2e/deaths/full-disk',
  'e2e/browsers/sip-js',
  'e2e/browsers/browser-softphone',
  'e2e/browsers/browser-ways',
  'e2e/browsers/preview-desktop',
  'e2e/deaths/control-killed-often',
  'fuzz/http',
  'interop/nodes/between-nodes',
  'fuzz/sip',
  'e2e/speech/assistant',
  'e2e/deaths/shutdown',
  'fuzz/rtp',
  'e2e/speech/copilot',
  'e2e/streams/streams',
  'e2e/recordings/incoming-recording',
  'e2e/browsers/copilot-desktop',
  'e2e/recordings/call-recording',
  'e2e/deaths/media-killed',
]

const rank = (path: string): number => {
  const at = LONG.findIndex(name => path.startsWith(`${name}.`))
  return at < 0 ? LONG.length : at
}

/** Whether a file takes so long that it would run into its time limits on a busy machine. */
export const isLong = (path: string): boolean => rank(path) < LONG.length

const all = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()

/** The test files whose path contains one of the patterns, or all if there is none, in the order in which they are to begin. */
export const testFiles = (patterns: string[]): string[] =>
  all
    .filter(path => path.endsWith('.test.ts'))
    .filter(path => patterns.length === 0 || patterns.some(pattern => path.includes(pattern)))
    .sort((a, b) => rank(a) - rank(b))

/** Files that tests start as processes of their own (`fork.ts`). */
export const FORKED = all.filter(path => /(^|\/)killable-[^/]+\.ts$/.test(path))

export const startsProduct = (path: string): boolean => /^(e2e|interop|fuzz)\//.test(path)

export const hasPages = (path: string): boolean => path.startsWith('e2e/browsers/')

/** Whether a comment of the file has this marker, which is followed by the reason. */
const says = (path: string, words: string): boolean => readFileSync(new URL(path, folder), 'utf8').includes(words)

/** The file does not depend on the database, so it does not run again on PostgreSQL. */
export const onSqliteAlone = (path: string): boolean => says(path, 'One database:')

export const wantsOwnProcess = (path: string): boolean => says(path, 'Own process:')

/**
 * The file judges audio by its timing, sample by sample, or by what speech recognition understands. Few run at a time, so that none has to
 * wait for a core.
 */
export const judgesTiming = (path: string): boolean => says(path, 'Judges timing:')

/** The file waits most of the time, and judges only sounds that last. Such files are a queue of their own, which runs beside the others. */
export const sleepsMost = (path: string): boolean => says(path, 'Sleeps most:')

/** The file judges how soon a process is back, or how much load the product bears, and takes a core or more. Such files run one by one. */
export const wantsMachine = (path: string): boolean => says(path, 'Wants the machine:')

/** The file takes a core, by a flood of messages or by killing processes again and again. */
export const takesCore = (path: string): boolean => says(path, 'Takes a core:')
