/** Where the detail of a line begins. */
const DETAIL_COLUMN = 53

/** Plain text for a terminal: steps as they happen, tables, and checks that are counted. */
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

  /** Something that was done, with what there is to know about it. */
  step(did: string, detail = ''): void {
    this.#write(`  ${did.padEnd(DETAIL_COLUMN)}${detail}`.trimEnd().concat('\n'))
  }

  /** Something that must be true; a failure is marked and counted. */
  check(isTrue: boolean, claim: string, measured = ''): void {
    if (!isTrue) this.failures++
    this.#write(`  ${isTrue ? '✓' : '✗'} ${claim.padEnd(DETAIL_COLUMN - 2)}${measured}`.trimEnd().concat('\n'))
  }

  /** Rows of cells, the first column to the left, all others to the right; the first row is the head. */
  table(rows: readonly (readonly string[])[]): void {
    const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
    for (const row of rows) {
      const cells = row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      this.#write(`    ${cells.join('   ')}`.trimEnd().concat('\n'))
    }
  }
}
