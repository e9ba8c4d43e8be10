import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import PDFDocument from 'pdfkit'
import { cutTo } from '../../media/protocol.ts'
import { PACKAGE_ROOT } from '../kernel/package.ts'
import type { Period } from '../quality/period.ts'

/** Maximum number of rows, since nobody reads more on paper. It also bounds the document in memory. */
const MAX_ROWS = 500
const MARGIN = 36
const FONT_SIZE = 7
const LINE = FONT_SIZE * 1.6
/** Maximum length of a cell that is measured letter by letter [characters]. */
const MAX_MEASURED = 100

/** For what people call themselves and their queues: the fonts that every PDF reader has know Latin letters only. */
const NAMES = 'names'
const NAMES_FONT = readFileSync(new URL('fixtures/fonts/DejaVuSans.ttf', PACKAGE_ROOT))
/** What the fonts of every reader draw. They take half the time, on a thread that has calls. */
const LATIN = /^[\x20-\x7e\xa0-\xff]*$/
/** Would break the line, or turn around what follows. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]+/gu
const FROM_RIGHT = /[\p{sc=Hebr}\p{sc=Arab}]/u
/** What is read in one direction: words from the right with what joins them, or the rest, such as numbers. */
const RUNS = /[\p{sc=Hebr}\p{sc=Arab}](?:[\s.,'"־–-]*[\p{sc=Hebr}\p{sc=Arab}\p{M}])*|[^\p{sc=Hebr}\p{sc=Arab}]+/gu
/** Lays out a run as a whole. Otherwise each word is, and words from the right stand in the wrong order. */
const AS_ONE = { features: [], lineBreak: false }

/** A table on landscape A4 pages, written row by row. */
export class PdfTable {
  readonly #document: PDFKit.PDFDocument
  readonly #columns: number
  #rows = 0

  constructor(title: string, period: Period, columns: string[]) {
    const document = new PDFDocument({ size: 'A4', layout: 'landscape', margin: MARGIN, info: { Title: title } })
    this.#document = document
    this.#columns = columns.length
    const { y, page } = document.registerFont(NAMES, NAMES_FONT).font('Helvetica-Bold').fontSize(14)
    const place = { x: MARGIN, y, width: page.width - 2 * MARGIN, height: document.currentLineHeight() }
    this.#text(title, 'Helvetica-Bold', place)
    document.x = MARGIN
    document.y = y + document.currentLineHeight()
    document.font('Helvetica').fontSize(9).text(`${period.from} to ${period.to}`).moveDown()
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
    document.fontSize(FONT_SIZE)
    for (const [i, cell] of cells.entries()) {
      this.#text(cell, font, { x: MARGIN + i * width, y, width: width - 4, height: LINE })
    }
    document.x = MARGIN
    document.y = y + LINE
  }

  /** One line of text in this place, with an ellipsis if it does not fit. */
  #text(said: string, font: string, { x, y, ...place }: { x: number; y: number; width: number; height: number }): void {
    const document = this.#document
    const text = said.replace(UNPRINTABLE, ' ')
    document.font(LATIN.test(text) ? font : NAMES)
    if (!FROM_RIGHT.test(text)) return void document.text(text, x, y, { ...place, ellipsis: true, lineBreak: false })
    const widthOf = (part: string): number => document.widthOfString(part, AS_ONE)
    const letters = [...cutTo(text, MAX_MEASURED), ...(text.length > MAX_MEASURED ? ['…'] : [])]
    while (widthOf(letters.join('')) > place.width) letters.splice(-2, 2, '…')
    let at = x
    for (const run of letters.join('').match(RUNS) ?? []) {
      document.text(run, at, y, AS_ONE)
      at += widthOf(run)
    }
  }
}
