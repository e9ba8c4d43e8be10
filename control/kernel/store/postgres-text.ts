/** PostgreSQL's text cannot hold NUL: it becomes U+FFFD, like other invalid characters. */
export const asPostgresText = (value: unknown): unknown =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value
