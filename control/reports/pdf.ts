import PDFDocument from 'pdfkit'
import type { Period, ReportTable } from './table.ts'

/** More rows are for the CSV: nobody reads them on paper. */
const MAX_PDF_ROWS = 500
const MARGIN = 36
const FONT_SIZE = 7

/** The table on landscape A4 pages. */
export function pdfOf(title: string, period: Period, { columns, rows }: ReportTable): Promise<Buffer> {
  const document = new PDFDocument({ size: 'A4', layout: 'landscape', margin: MARGIN, info: { Title: title } })
  const chunks: Buffer[] = []
  const done = new Promise<Buffer>((resolve, reject) => {
    document.on('data', (chunk: Buffer) => chunks.push(chunk))
    document.on('end', () => resolve(Buffer.concat(chunks)))
    document.on('error', reject)
  })
  document.font('Helvetica-Bold').fontSize(14).text(title)
  document.font('Helvetica').fontSize(9).text(`${period.from} to ${period.to}, ${rows.length} rows`).moveDown()
  const write = (cells: string[], font: string): void => {
    const width = (document.page.width - 2 * MARGIN) / columns.length
    const height = FONT_SIZE * 1.6
    if (document.y + height > document.page.height - MARGIN) document.addPage()
    const { y } = document
    document.font(font).fontSize(FONT_SIZE)
    for (const [i, cell] of cells.entries()) {
      document.text(cell, MARGIN + i * width, y, { width: width - 4, height, ellipsis: true, lineBreak: false })
    }
    document.x = MARGIN
    document.y = y + height
  }
  write(columns, 'Helvetica-Bold')
  for (const row of rows.slice(0, MAX_PDF_ROWS)) write(row, 'Helvetica')
  if (rows.length > MAX_PDF_ROWS) write([`and ${rows.length - MAX_PDF_ROWS} more`], 'Helvetica')
  document.end()
  return done
}
