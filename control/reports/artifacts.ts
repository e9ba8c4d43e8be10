import { createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CSV_START, csvRecord } from './csv.ts'
import type { Period } from './period.ts'
import type { ReportTable } from './table.ts'

export const FORMATS = ['csv', 'pdf'] as const
export type Format = (typeof FORMATS)[number]

export const CONTENT_TYPES: Record<Format, string> = { csv: 'text/csv; charset=utf-8', pdf: 'application/pdf' }

/** Written to the file once so much has come together [characters]. */
const CHUNK = 64 * 1024

export const reportFolder = (dataDir: string): string => join(dataDir, 'reports')

/** The file of a run's artifact. */
export const artifactPath = (dataDir: string, runId: string, format: Format): string =>
  join(reportFolder(dataDir), `${runId}.${format}`)

/** Its size [bytes]; null when it is not there. */
export const artifactSize = (dataDir: string, runId: string, format: Format): Promise<number | null> =>
  stat(artifactPath(dataDir, runId, format)).then(
    file => file.size,
    () => null,
  )

/** Idempotent. */
export async function removeArtifacts(dataDir: string, runId: string): Promise<void> {
  for (const format of FORMATS) await rm(artifactPath(dataDir, runId, format), { force: true })
}

interface Writer {
  write(cells: string[]): Promise<void> | void
  /** Resolves when the file is whole. */
  end(): Promise<void>
}

/** What is made of a table. */
export interface ArtifactPlan {
  runId: string
  title: string
  period: Period
  formats: Format[]
  table: ReportTable
  signal: AbortSignal
}

/** Writes the artifacts in one pass over the rows, each whole or not there. However many rows there are, memory holds a page. */
export async function writeArtifacts(dataDir: string, plan: ArtifactPlan): Promise<void> {
  await mkdir(reportFolder(dataDir), { recursive: true })
  const { columns, rows } = plan.table
  const draft = (format: Format): string => `${artifactPath(dataDir, plan.runId, format)}.new`
  const writers: Writer[] = []
  try {
    for (const format of plan.formats) {
      const file = draft(format)
      writers.push(format === 'csv' ? await csvWriter(file, columns) : await pdfWriter(file, plan))
    }
    for await (const cells of rows) {
      plan.signal.throwIfAborted()
      for (const writer of writers) await writer.write(cells)
    }
  } finally {
    // Also after a failure, so that no file stays open.
    await Promise.all(writers.map(writer => writer.end()))
  }
  for (const format of plan.formats) await rename(draft(format), artifactPath(dataDir, plan.runId, format))
}

async function csvWriter(path: string, columns: string[]): Promise<Writer> {
  const file = await open(path, 'w')
  let text = CSV_START + csvRecord(columns)
  const flush = async (): Promise<void> => {
    const chunk = text
    text = ''
    await file.appendFile(chunk)
  }
  return {
    write: async cells => {
      text += csvRecord(cells)
      if (text.length >= CHUNK) await flush()
    },
    end: async () => {
      try {
        await flush()
        await file.sync()
      } finally {
        await file.close()
      }
    },
  }
}

async function pdfWriter(path: string, { title, period, table }: ArtifactPlan): Promise<Writer> {
  // Loading its fonts takes a fifth of a start of control, which must not wait for what few reports need.
  const { PdfTable } = await import('./pdf.ts')
  const pdf = new PdfTable(title, period, table.columns)
  const written = pipeline(pdf.stream, createWriteStream(path, { flush: true }))
  // A failure is told by `end`; until then nobody may take it for unhandled.
  written.catch(() => {})
  return {
    write: cells => pdf.write(cells),
    end: () => {
      pdf.end()
      return written
    },
  }
}
