/** Minimum prefix of a secret that is masked where a text was cut off [characters]. */
const MIN_CUT = 4

/** Replaces a secret wherever it would appear. */
export const blotOf = (name: string): string => `[secret:${name}]`

/** Masks secrets in a text. `cut`: the text was truncated, and may end with the beginning of a secret. */
export type Blot = (text: string, cut?: boolean) => string

/**
 * Finds each secret plain, JSON-escaped, percent-encoded, in hex, and in base64, also inside other text. A server that returns one in
 * another form cannot be detected.
 */
export function blotter(secrets: ReadonlyMap<string, string>): Blot {
  const forms = [...secrets]
    .flatMap(([name, value]) => formsOf(value).map(form => ({ form, blot: blotOf(name) })))
    .toSorted((a, b) => b.form.length - a.form.length)
  return (text, cut = false) => {
    const blotted = forms.reduce((left, { form, blot }) => left.replaceAll(form, blot), text)
    return cut ? withoutBeginning(blotted, forms) : blotted
  }
}

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  const percent = encodeURIComponent(value)
  const forms = [
    value,
    JSON.stringify(value).slice(1, -1),
    percent,
    percent.replaceAll('%20', '+'),
    percent.replace(/%[0-9A-F]{2}/g, code => code.toLowerCase()),
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].flatMap(before => [inBase64(bytes, before, 'base64'), inBase64(bytes, before, 'base64url')]),
  ]
  return [...new Set(forms)]
}

/** The characters of base64 that are the same whatever surrounds the secret, if it starts at this offset in a group of three bytes. */
function inBase64(bytes: Buffer, before: number, encoding: 'base64' | 'base64url'): string {
  const encoded = Buffer.concat([Buffer.alloc(before), bytes])
    .toString(encoding)
    .replace(/=+$/, '')
  const first = Math.ceil((before * 8) / 6)
  const last = Math.floor(((before + bytes.length) * 8) / 6)
  return encoded.slice(first, last)
}

function withoutBeginning(text: string, forms: readonly { form: string; blot: string }[]): string {
  for (const { form, blot } of forms) {
    for (let length = Math.min(form.length - 1, text.length); length >= MIN_CUT; length--) {
      if (text.endsWith(form.slice(0, length))) return text.slice(0, -length) + blot
    }
  }
  return text
}

/** Masks secrets in all texts of a JSON value, including property names. */
export function blottedDeep(value: unknown, blot: Blot): unknown {
  if (typeof value === 'string') return blot(value)
  if (Array.isArray(value)) return value.map(item => blottedDeep(item, blot))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [blot(name), blottedDeep(item, blot)]))
}
