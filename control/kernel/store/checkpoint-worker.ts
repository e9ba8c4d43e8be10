import { parentPort, workerData } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'
import type { ToCheckpointWorker } from './checkpoints.ts'

/** Maximum number of passes; each copies what was committed during the one before. Only a log that is copied completely is reused from its start. */
const MAX_PASSES = 8

// A thread that copies SQLite's log into the database file on request (`checkpoints.ts`), so that no commit has to.
const sqlite = new BetterSqlite3(workerData as string, { fileMustExist: true })
const checkpoint = sqlite.prepare<[], { log: number }>('pragma wal_checkpoint(passive)')

function copyAll(): void {
  let copied = -1
  for (let passes = 0; passes < MAX_PASSES; passes++) {
    const { log } = checkpoint.get()!
    if (log === copied) return
    copied = log
  }
}

parentPort!.on('message', (message: ToCheckpointWorker) => {
  if (message === 'close') {
    sqlite.close()
    parentPort!.close()
    return
  }
  try {
    copyAll()
  } catch {
    // The disk is full or fails: the next commit reports that. Nothing is lost, since the log is still there.
  }
  parentPort!.postMessage('done')
})
