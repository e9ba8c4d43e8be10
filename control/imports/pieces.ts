import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { idAt } from '../kernel/ids.ts'
import type { Db } from '../kernel/store/store.ts'
import type { ImportPieceTable } from './tables.ts'

/** Size of a stored piece of the upload [bytes], small enough for a row in both databases. */
const PIECE_BYTES = 256 * 1024
/** Bytes passed to a parser at a time, since parsing blocks the event loop for some milliseconds. */
const READ_BYTES = 16 * 1024
/** Longer than any upload takes [ms]. */
const ORPHAN_MS = 60 * 60 * 1000

type File = ImportPieceTable['file']

/** Stores a piece in the database, where any node can read it. */
export async function insertPiece(db: Db, importId: string, file: File, position: number, bytes: Buffer) {
  const content = bytes.toString('base64')
  await db.insertInto('import_pieces').values({ import_id: importId, file, position, content }).execute()
}

/** Stores the upload, with only one piece in memory. */
export async function storeSource(db: Db, importId: string, source: Readable): Promise<void> {
  let waiting: Buffer[] = []
  let bytes = 0
  let position = 0
  const flush = async (): Promise<void> => {
    if (bytes > 0) await insertPiece(db, importId, 'source', position++, Buffer.concat(waiting))
    waiting = []
    bytes = 0
  }
  for await (const chunk of source as AsyncIterable<Buffer>) {
    waiting.push(chunk)
    bytes += chunk.length
    if (bytes >= PIECE_BYTES) await flush()
  }
  await flush()
}

/** A file from its beginning, a piece at a time. */
export const readPieces = (db: Db, importId: string, file: File): Readable =>
  Readable.from(pieces(db, importId, file), { objectMode: false, highWaterMark: READ_BYTES })

async function* pieces(db: Db, importId: string, file: File): AsyncGenerator<Buffer> {
  for (let position = 0; ; position++) {
    const row = await db
      .selectFrom('import_pieces')
      .select('content')
      .where('import_id', '=', importId)
      .where('file', '=', file)
      .where('position', '=', position)
      .executeTakeFirst()
    if (row === undefined) return
    const bytes = Buffer.from(row.content, 'base64')
    for (let at = 0; at < bytes.length; at += READ_BYTES) yield bytes.subarray(at, at + READ_BYTES)
  }
}

/** Idempotent. */
export const removePieces = (db: Db, importId: string, file: File) =>
  db.deleteFrom('import_pieces').where('import_id', '=', importId).where('file', '=', file).execute()

/** How long error reports of imports are kept [ms]. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000

/** Removes files of uploads that never became an import, and of imports that ended long ago. */
export async function sweepImports(db: Db, now: Date): Promise<void> {
  const keptSince = new Date(now.getTime() - KEPT_MS).toISOString()
  const imports = db.selectFrom('imports').select('imports.id')
  const stored = db.selectFrom('import_pieces').select('import_id').distinct()
  const lost = stored.where('import_id', '<', idAt('import', now.getTime() - ORPHAN_MS))
  const ids = [
    ...(await lost.where('import_id', 'not in', imports).execute()),
    ...(await stored.where('import_id', 'in', imports.where('finished_at', '<', keptSince)).execute()),
  ]
  // One at a time: a file has up to hundreds of pieces, and calls wait for each statement.
  for (const { import_id } of ids) {
    await db.deleteFrom('import_pieces').where('import_id', '=', import_id).execute()
    await nextTurn()
  }
}
