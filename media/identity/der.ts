/** One element of DER (X.690 §8.1). */
interface Element {
  tag: number
  content: Uint8Array
}

/** The elements of a constructed one; null: it is not DER. */
export function elementsOf(bytes: Uint8Array): Element[] | null {
  const elements: Element[] = []
  for (let at = 0; at < bytes.length; ) {
    const [tag, first] = [bytes[at], bytes[at + 1]]
    if (tag === undefined || first === undefined) return null
    let length = first
    at += 2
    if (first > 0x7f) {
      const octets = first & 0x7f
      if (octets === 0 || octets > 3 || at + octets > bytes.length) return null
      length = 0
      for (let n = 0; n < octets; n++) length = length * 256 + bytes[at + n]!
      at += octets
    }
    if (at + length > bytes.length) return null
    elements.push({ tag, content: bytes.subarray(at, at + length) })
    at += length
  }
  return elements
}
