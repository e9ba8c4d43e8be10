/** A report's content: text in columns. Rows are read on demand, a page at a time. */
export interface ReportTable {
  columns: string[]
  rows: AsyncIterable<string[]>
}
