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
    .flatMap(([name, value]) => formsOf(value).map(form => ({ ...form, blot: blotOf(name) })))
    .toSorted((a, b) => b.text.length - a.text.length)
  return (text, cut = false) => {
    const blotted = forms.reduce((left, { sought, blot }) => left.replaceAll(sought, blot), text)
    return cut ? withoutBeginning(blotted, forms) : blotted
  }
}

/** `lead`: how many characters before the text hold a part of the secret too. `sought`: the text with all that does. */
type Form = { text: string; lead: number; sought: string | RegExp }

function formsOf(value: string): Form[] {
  const bytes = Buffer.from(value)
  const percent = encodeURIComponent(value)
  const texts = [
    value,
    JSON.stringify(value).slice(1, -1),
    percent,
    percent.replaceAll('%20', '+'),
    percent.replace(/%[0-9A-F]{2}/g, code => code.toLowerCase()),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
  ]
  return [
    ...texts.map(text => ({ text, lead: 0, sought: text })),
    ...[0, 1, 2].flatMap(before => [inBase64(bytes, before, 'base64'), inBase64(bytes, before, 'base64url')]),
  ]
}

/**
 * The characters of base64 that are the same whatever surrounds the secret, if it starts at this offset in a group of three bytes. Those
 * at the ends share their bits with what surrounds it: they are sought whatever they are, and the padding goes with them.
 */
function inBase64(bytes: Buffer, before: number, encoding: 'base64' | 'base64url'): Form {
  const encoded = Buffer.concat([Buffer.alloc(before), bytes])
    .toString(encoding)
    .replace(/=+$/, '')
  const text = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  const [lead, tail] = [before, before + bytes.length].map(at => (at % 3 === 0 ? 0 : 1))
  const shared = '[\\w+/-]'
  const sought = new RegExp(`${shared}{0,${lead}}${text.replaceAll('+', '\\+')}(?:${shared}{0,${tail}}={0,2})`, 'g')
  return { text, lead: lead ?? 0, sought }
}

function withoutBeginning(text: string, forms: readonly (Form & { blot: string })[]): string {
  for (const { text: form, lead, blot } of forms) {
    for (let length = Math.min(form.length - 1, text.length); length >= MIN_CUT; length--) {
      if (text.endsWith(form.slice(0, length))) return text.slice(0, Math.max(0, text.length - length - lead)) + blot
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
