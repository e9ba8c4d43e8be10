/**
 * Loaded first into all processes and threads of a product (`--require`), so that a test can have its first engine thread die: by a signal to
 * the media process, in one of these ways.
 */
const { BroadcastChannel, isMainThread, workerData } = require('node:worker_threads')

const WAYS = { SIGUSR2: 'exit', SIGURG: 'exception', SIGWINCH: 'memory' }

/** A `BroadcastChannel` reaches all threads of a process, and no other process. */
const orders = new BroadcastChannel('mortal-threads')
orders.unref()

function die(way) {
  if (way === 'exit') process.exit(1)
  if (way === 'exception') setImmediate(() => JSON.parse('an exception that nobody catches'))
  if (way === 'memory') for (const kept = []; ; ) kept.push(new Array(1_000_000).fill(0.5))
}

if (isMainThread) for (const [signal, way] of Object.entries(WAYS)) process.on(signal, () => orders.postMessage(way))
else if (workerData?.place?.index === 0) orders.onmessage = ({ data }) => die(data)
