/**
 * The part of a file of `size` bytes that a `Range` header asks for (RFC 9110 §14.1.2): first and last byte, both inclusive. Null for the whole file:
 * no header, an unknown unit, a malformed header (§14.2: ignored), or several parts at once, which a server need not serve.
 */
export function byteRange(
  header: string | undefined,
  size: number,
): { first: number; last: number } | null | 'unsatisfiable' {
  const match = header === undefined ? null : /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim())
  if (match === null) return null
  const [, from, to] = match
  if (from === '' || from === undefined) {
    if (to === '' || to === undefined) return null
    const length = Math.min(Number(to), size)
    return length === 0 ? 'unsatisfiable' : { first: size - length, last: size - 1 }
  }
  const first = Number(from)
  const last = to === '' || to === undefined ? size - 1 : Math.min(Number(to), size - 1)
  if (to !== '' && to !== undefined && Number(to) < first) return null
  return first >= size ? 'unsatisfiable' : { first, last }
}
