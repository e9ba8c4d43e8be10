import { parentPort, workerData } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'
import type { ToCheckpointWorker } from './checkpoints.ts'

/** Maximum number of passes; each copies what was committed during the one before. Only a log that is copied completely is reused from its start. */
const MAX_PASSES = 8
/** How often the log is tried to be emptied, and how long somebody has in between to end what he reads or writes there [ms]. */
const EMPTYING = { tries: 100, pauseMs: 20 }

// A thread that copies SQLite's log into the database file on request (`checkpoints.ts`), so that no commit has to.
// It waits for nobody with a lock in its hand: calls would wait for it.
const sqlite = new BetterSqlite3(workerData as string, { fileMustExist: true, timeout: 0 })
const checkpoint = sqlite.prepare<[], { log: number }>('pragma wal_checkpoint(passive)')
const truncation = sqlite.prepare<[], { busy: number }>('pragma wal_checkpoint(truncate)')
const sleeper = new Int32Array(new SharedArrayBuffer(4))

function copyAll(): void {
  let copied = -1
  for (let passes = 0; passes < MAX_PASSES; passes++) {
    const { log } = checkpoint.get()!
    if (log === copied) return
    copied = log
  }
}

/** Copying first leaves little to do while nobody may write. Where somebody reads for longer, the next time is soon enough. */
function empty(): void {
  for (let tries = 0; tries < EMPTYING.tries; tries++) {
    copyAll()
    if (truncation.get()!.busy === 0) return
    Atomics.wait(sleeper, 0, 0, EMPTYING.pauseMs)
  }
}

parentPort!.on('message', (message: ToCheckpointWorker) => {
  if (message === 'close') {
    sqlite.close()
    parentPort!.close()
    return
  }
  try {
    if (message === 'empty') empty()
    else copyAll()
  } catch {
    // The disk is full or fails: the next commit reports that. Nothing is lost, since the log is still there.
  }
  parentPort!.postMessage('done')
})
