/** PostgreSQL's text cannot hold a NUL: it becomes U+FFFD, as other broken characters do. */
export const asPostgresText = (value: unknown): unknown =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
