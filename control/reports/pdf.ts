import type { Readable } from 'node:stream'
import PDFDocument from 'pdfkit'
import type { Period } from '../quality/period.ts'

/** Maximum number of rows, since nobody reads more on paper. It also bounds the document in memory. */
const MAX_ROWS = 500
const MARGIN = 36
const FONT_SIZE = 7
const LINE = FONT_SIZE * 1.6

/** A table on landscape A4 pages, written row by row. */
export class PdfTable {
  readonly #document: PDFKit.PDFDocument
  readonly #columns: number
  #rows = 0

  constructor(title: string, period: Period, columns: string[]) {
    const document = new PDFDocument({ size: 'A4', layout: 'landscape', margin: MARGIN, info: { Title: title } })
    document.font('Helvetica-Bold').fontSize(14).text(title)
    document.font('Helvetica').fontSize(9).text(`${period.from} to ${period.to}`).moveDown()
    this.#document = document
    this.#columns = columns.length
    this.#line(columns, 'Helvetica-Bold')
  }

  /** The content of the file. */
  get stream(): Readable {
    return this.#document as unknown as Readable
  }

  write(cells: string[]): void {
    this.#rows += 1
    if (this.#rows <= MAX_ROWS) this.#line(cells, 'Helvetica')
  }

  end(): void {
    const more = this.#rows - MAX_ROWS
    if (more > 0) this.#line([`and ${more} more`], 'Helvetica')
    else this.#line([`${this.#rows} rows`], 'Helvetica')
    this.#document.end()
  }

  #line(cells: string[], font: string): void {
    const document = this.#document
    const width = (document.page.width - 2 * MARGIN) / this.#columns
    if (document.y + LINE > document.page.height - MARGIN) document.addPage()
    const { y } = document
    document.font(font).fontSize(FONT_SIZE)
    for (const [i, cell] of cells.entries()) {
      const place = { width: width - 4, height: LINE, ellipsis: true, lineBreak: false }
      document.text(cell, MARGIN + i * width, y, place)
    }
    document.x = MARGIN
    document.y = y + LINE
  }
}
