/** What a report shows: text in columns. Rows are read as they are asked for, a page at a time. */
export interface ReportTable {
  columns: string[]
  rows: AsyncIterable<string[]>
}
