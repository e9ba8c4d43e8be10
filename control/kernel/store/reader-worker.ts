import { parentPort, workerData } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'
import type { FromReaderWorker, ToReaderWorker } from './reader.ts'

// A thread that answers long questions to SQLite (`reader.ts`). While it reads, others write: the file has a write-ahead log.
const sqlite = new BetterSqlite3(workerData as string, { readonly: true, fileMustExist: true })

function answered({ id, sql, parameters }: Exclude<ToReaderWorker, 'close'>): FromReaderWorker {
  try {
    return { id, rows: sqlite.prepare(sql).all(parameters) }
  } catch (error) {
    const { message, code = '' } = error as Error & { code?: string }
    return { id, error: { message, code } }
  }
}

parentPort!.on('message', (message: ToReaderWorker) => {
  if (message !== 'close') return parentPort!.postMessage(answered(message))
  sqlite.close()
  parentPort!.close()
})
