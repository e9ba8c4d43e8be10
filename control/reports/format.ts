/** Formats of a report. */
export const FORMATS = ['csv', 'pdf'] as const
export type Format = (typeof FORMATS)[number]

export const CONTENT_TYPES: Record<Format, string> = { csv: 'text/csv; charset=utf-8', pdf: 'application/pdf' }
