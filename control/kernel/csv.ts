/** Spreadsheets take these for the start of a formula, and callers choose what their addresses contain. */
const FORMULA = /^[=@\t\r+-]/
const NUMBER = /^[+-]?\d+$/

/** A byte order mark, without which spreadsheets guess the encoding. */
export const CSV_START = '\ufeff'

/** One record of RFC 4180. */
export const csvRecord = (cells: string[]): string => `${cells.map(field).join(',')}\r\n`

function field(text: string): string {
  const harmless = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
