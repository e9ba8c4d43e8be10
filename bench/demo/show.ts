/** Column at which the detail of a line begins. */
const DETAIL_COLUMN = 53

/** Writes plain text for a terminal: steps as they happen, tables, and checks, whose failures it counts. */
export class Show {
  failures = 0
  readonly #write: (text: string) => void

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  line(text = ''): void {
    this.#write(`${text}\n`)
  }

  title(text: string): void {
    this.#write(`\n${text}\n\n`)
  }

  /** Writes what was done, with a detail. */
  step(did: string, detail = ''): void {
    this.#write(`  ${did.padEnd(DETAIL_COLUMN)}${detail}`.trimEnd().concat('\n'))
  }

  /** Writes a claim that must be true; marks and counts it if it is not. */
  check(isTrue: boolean, claim: string, measured = ''): void {
    if (!isTrue) this.failures++
    this.#write(`  ${isTrue ? '✓' : '✗'} ${claim.padEnd(DETAIL_COLUMN - 2)}${measured}`.trimEnd().concat('\n'))
  }

  /** Writes rows of cells. The first row is the head; the first column is left-aligned, all others right-aligned. */
  table(rows: readonly (readonly string[])[]): void {
    const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
    for (const row of rows) {
      const cells = row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      this.#write(`    ${cells.join('   ')}`.trimEnd().concat('\n'))
    }
  }
}
