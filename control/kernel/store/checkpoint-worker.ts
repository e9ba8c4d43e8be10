import { parentPort, workerData } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'
import type { ToCheckpointWorker } from './checkpoints.ts'

/** What is committed while it copies is copied too, so often at most. The log begins anew only if nothing of it is left to copy. */
const MAX_PASSES = 8

/** A thread that copies what is committed into a database file whenever it is asked to, and nobody waits for it. */
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
    // A full or failing disk: whoever writes next hears of it, and nothing is lost, for the log is still there.
  }
  parentPort!.postMessage('done')
})
