import type { Readable } from 'node:stream'
import { paged } from '../kernel/paged.ts'
import type { Db } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { Format } from './format.ts'

/** Size of all pieces of a file but the last [bytes], small enough for a row in both databases. */
const PIECE_BYTES = 256 * 1024
/** Maximum size of a file: a table of some 250,000 calls. For more, use shorter periods. */
export const MAX_ARTIFACT_BYTES = 32 * 1024 * 1024

/** A run's file in one format. */
interface ArtifactName {
  runId: string
  format: Format
}

/** A failure whose message is shown to users; others are ours. */
export class ReportTooLarge extends Error {}

/** Writes a file piece by piece. An earlier one of that name must be removed first. */
export class PieceWriter {
  readonly #db: Db
  readonly #tenant: Tenant
  readonly #name: ArtifactName
  /** Less than a piece, between two writes. */
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #position = 0

  constructor(db: Db, tenant: Tenant, name: ArtifactName) {
    this.#db = db
    this.#tenant = tenant
    this.#name = name
  }

  async write(bytes: Buffer): Promise<void> {
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes < PIECE_BYTES) return
    let rest = Buffer.concat(this.#waiting)
    for (; rest.length >= PIECE_BYTES; rest = rest.subarray(PIECE_BYTES)) {
      await this.#insert(rest.subarray(0, PIECE_BYTES))
    }
    this.#waiting = [rest]
    this.#waitingBytes = rest.length
  }

  async end(): Promise<void> {
    if (this.#waitingBytes > 0) await this.#insert(Buffer.concat(this.#waiting))
    this.#waiting = []
    this.#waitingBytes = 0
  }

  async #insert(bytes: Buffer): Promise<void> {
    if (this.#position * PIECE_BYTES + bytes.length > MAX_ARTIFACT_BYTES) {
      throw new ReportTooLarge(`The report is larger than ${MAX_ARTIFACT_BYTES} bytes; choose a shorter period.`)
    }
    await forTenant(this.#db, this.#tenant).insert('report_artifacts', {
      run_id: this.#name.runId,
      format: this.#name.format,
      position: this.#position++,
      size_bytes: bytes.length,
      content: bytes.toString('base64'),
    })
  }
}

/** A file's size [bytes]; null: there is no such file. */
export async function artifactSize(db: Db, tenant: Tenant, { runId, format }: ArtifactName): Promise<number | null> {
  const row = await forTenant(db, tenant)
    .select('report_artifacts')
    .select(({ fn }) => fn.sum<number | string | null>('size_bytes').as('size'))
    .where('run_id', '=', runId)
    .where('format', '=', format)
    .executeTakeFirst()
  return row?.size === null || row === undefined ? null : Number(row.size)
}

/** The bytes from `first` to `last`, both inclusive. One piece at a time is in memory, and other work runs between two. */
export const readArtifact = (
  db: Db,
  tenant: Tenant,
  name: ArtifactName,
  first = 0,
  last = Number.MAX_SAFE_INTEGER,
): Readable => paged(pieces(db, tenant, name, { first, last }))

async function* pieces(
  db: Db,
  tenant: Tenant,
  { runId, format }: ArtifactName,
  { first, last }: { first: number; last: number },
): AsyncGenerator<Buffer> {
  for (let position = Math.floor(first / PIECE_BYTES); position * PIECE_BYTES <= last; position++) {
    const row = await forTenant(db, tenant).findBy('report_artifacts', { run_id: runId, format, position })
    if (row === undefined) return
    const start = position * PIECE_BYTES
    const bytes = Buffer.from(row.content, 'base64')
    yield bytes.subarray(Math.max(0, first - start), last - start + 1)
    if (bytes.length < PIECE_BYTES) return
  }
}

/** Idempotent. */
export async function removeArtifacts(db: Db, tenant: Tenant, runId: string): Promise<void> {
  await forTenant(db, tenant).delete('report_artifacts').where('run_id', '=', runId).execute()
}
