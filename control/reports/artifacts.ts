import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CSV_START, csvRecord } from '../kernel/csv.ts'
import type { Store } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import type { Period } from '../quality/period.ts'
import type { Format } from './format.ts'
import { PieceWriter, removeArtifacts } from './pieces.ts'
import type { ReportTable } from './report-table.ts'

/** Text is buffered up to this length before it is written [characters]. */
const CHUNK = 64 * 1024

interface Writer {
  write(cells: string[]): Promise<void> | void
  /** Resolves when the file is complete. */
  end(): Promise<void>
}

/** Files made from a table. */
interface ArtifactPlan {
  runId: string
  title: string
  period: Period
  formats: Format[]
  table: ReportTable
  signal: AbortSignal
}

/** Writes the artifacts in one pass over the rows. They are valid once the run's row says so. Memory holds only a page of rows and a piece of each file. */
export async function writeArtifacts({ db }: Store, tenant: Tenant, plan: ArtifactPlan): Promise<void> {
  const { columns, rows } = plan.table
  // From an earlier attempt.
  await removeArtifacts(db, tenant, plan.runId)
  const writers: Writer[] = []
  try {
    for (const format of plan.formats) {
      const pieces = new PieceWriter(db, tenant, { runId: plan.runId, format })
      writers.push(format === 'csv' ? csvWriter(pieces, columns) : await pdfWriter(pieces, plan))
    }
    for await (const cells of rows) {
      plan.signal.throwIfAborted()
      for (const writer of writers) await writer.write(cells)
    }
  } finally {
    // Also after a failure, so that nothing of a document stays open.
    await Promise.all(writers.map(writer => writer.end()))
  }
}

function csvWriter(pieces: PieceWriter, columns: string[]): Writer {
  let text = CSV_START + csvRecord(columns)
  const flush = async (): Promise<void> => {
    const chunk = Buffer.from(text)
    text = ''
    await pieces.write(chunk)
  }
  return {
    write: async cells => {
      text += csvRecord(cells)
      if (text.length >= CHUNK) await flush()
    },
    end: async () => {
      await flush()
      await pieces.end()
    },
  }
}

async function pdfWriter(pieces: PieceWriter, { title, period, table }: ArtifactPlan): Promise<Writer> {
  // Loading its fonts takes a fifth of a start of control, which must not wait for what few reports need.
  const { PdfTable } = await import('./pdf.ts')
  const pdf = new PdfTable(title, period, table.columns)
  const written = pipeline(pdf.stream, sinkOf(pieces))
  // `end` reports a failure; until then it must not count as unhandled.
  written.catch(() => {})
  return {
    write: cells => pdf.write(cells),
    end: () => {
      pdf.end()
      return written
    },
  }
}

const sinkOf = (pieces: PieceWriter): Writable =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => void pieces.write(chunk).then(() => done(), done),
    final: done => void pieces.end().then(() => done(), done),
  })
