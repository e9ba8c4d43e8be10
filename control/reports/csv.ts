import type { ReportTable } from './table.ts'

/** A spreadsheet takes these for the start of a formula, and callers choose what their addresses say. */
const FORMULA = /^[=@\t\r+-]/
const NUMBER = /^[+-]?\d+$/

/** RFC 4180, in UTF-8 with a byte order mark, without which spreadsheets guess the encoding. */
export function csvOf({ columns, rows }: ReportTable): Buffer {
  const lines = [columns, ...rows].map(cells => `${cells.map(field).join(',')}\r\n`)
  return Buffer.from(`\ufeff${lines.join('')}`)
}

function field(text: string): string {
  const harmless = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
