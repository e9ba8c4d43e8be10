/** What the test command knows of files before it runs them, by their paths below `test/`. */
import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('.', import.meta.url)

/** What takes longest begins first, in this order, so that what begins last is short. */
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
  'e2e/payments/pin',
  'e2e/speech/copilot',
  'e2e/deaths/shutdown',
  'e2e/browsers/copilot-desktop',
  'e2e/speech/assistant',
  'e2e/recordings/incoming-recording',
  'e2e/room',
  'e2e/queue-agents',
  'e2e/browsers/browser-pages',
  'e2e/browsers/browser-softphone',
  'e2e/recordings/call-recording',
  'e2e/recordings/led-call',
  // Those who take a whole core are not first together.
  'e2e/deaths/control-killed-often',
  'fuzz/rtp',
  'fuzz/sip',
  'fuzz/http',
  'e2e/deaths/media-killed',
]

const rank = (path: string): number => {
  const at = LONG.findIndex(name => path.startsWith(`${name}.`))
  return at < 0 ? LONG.length : at
}

/** Where little is left of the machine, it would run into its time limits. */
export const isLong = (path: string): boolean => rank(path) < LONG.length

const all = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()

/** The test files whose path holds one of the patterns, in the order in which they are to begin. */
export const testFiles = (patterns: string[]): string[] =>
  all
    .filter(path => path.endsWith('.test.ts'))
    .filter(path => patterns.length === 0 || patterns.some(pattern => path.includes(pattern)))
    .sort((a, b) => rank(a) - rank(b))

/** What tests start as a process of its own (`fork.ts`). */
export const FORKED = all.filter(path => /(^|\/)killable-[^/]+\.ts$/.test(path))

export const startsProduct = (path: string): boolean => /^(e2e|interop|fuzz)\//.test(path)

export const hasPages = (path: string): boolean => path.startsWith('e2e/browsers/')

/** Of a file and in one of its comments, followed by the reason. */
const says = (path: string, words: string): boolean => readFileSync(new URL(path, folder), 'utf8').includes(words)

/** It is not about what is stored, so that both databases would be told the same. */
export const onSqliteAlone = (path: string): boolean => says(path, 'One database:')

export const wantsOwnProcess = (path: string): boolean => says(path, 'Own process:')

/** Audio is judged by when it comes, sample by sample, or by what is understood of it: two at a time, which leaves a core to what comes at once. */
export const judgesTiming = (path: string): boolean => says(path, 'Judges timing:')

/** It sleeps through most of its time, and listens only for what lasts: these have a turn of their own beside the others. */
export const sleepsMost = (path: string): boolean => says(path, 'Sleeps most:')

/** It judges how soon somebody is back, or how much is borne, and takes a core or more for that: one by one. */
export const wantsMachine = (path: string): boolean => says(path, 'Wants the machine:')

/** A flood, or one death after the other, takes a core. */
export const takesCore = (path: string): boolean => says(path, 'Takes a core:')
