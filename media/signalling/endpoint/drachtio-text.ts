import { canonicalName } from '../../../sip/message/message.ts'

/** A SIP message as text, field by field, as it is exchanged with a drachtio server. */
export interface SipText {
  /** The request line or the status line. */
  start: string
  /** In their order; names as they were written. */
  fields: [name: string, value: string][]
  body: string
}

export function readSipText(text: string): SipText {
  const end = text.search(/\r?\n\r?\n/)
  const head = end < 0 ? text : text.slice(0, end)
  const [start = '', ...lines] = head.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  return {
    start,
    fields: lines
      .filter(line => line.includes(':'))
      .map(line => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]),
    body: end < 0 ? '' : text.slice(end).replace(/^\r?\n\r?\n/, ''),
  }
}

/** Its Content-Length is counted anew. */
export function writeSipText({ start, fields, body }: SipText): Buffer {
  const lines = fields
    .filter(([name]) => canonicalName(name) !== 'content-length')
    .map(([name, value]) => `${name}: ${value}`)
  const length = `Content-Length: ${Buffer.byteLength(body)}`
  return Buffer.from(`${[start, ...lines, length].join('\r\n')}\r\n\r\n${body}`)
}

/** The first field of a canonical name; '': there is none. */
export const fieldOf = ({ fields }: SipText, name: string): string =>
  fields.find(([own]) => canonicalName(own) === name)?.[1] ?? ''

/** All fields of a canonical name. */
export const fieldsOf = ({ fields }: SipText, name: string): [string, string][] =>
  fields.filter(([own]) => canonicalName(own) === name)

/** All but those of these canonical names. */
export const fieldsBut = ({ fields }: SipText, names: ReadonlySet<string>): [string, string][] =>
  fields.filter(([name]) => !names.has(canonicalName(name)))

/** The tag of a From or To; '': it has none. */
export const tagOf = (value: string): string => /;\s*tag\s*=\s*([^;,\s>]+)/i.exec(afterUri(value))?.[1] ?? ''

/** The same with another tag. */
export const withTag = (value: string, tag: string): string => {
  const params = afterUri(value)
  const uri = value.slice(0, value.length - params.length)
  const others = params.replace(/;\s*tag\s*=\s*[^;,\s]+/i, '')
  return tag === '' ? `${uri}${others}` : `${uri}${others};tag=${tag}`
}

function afterUri(value: string): string {
  const end = value.lastIndexOf('>')
  if (end >= 0) return value.slice(end + 1)
  const semicolon = value.indexOf(';')
  return semicolon < 0 ? '' : value.slice(semicolon)
}

/** The branch of the topmost Via. */
export const branchOf = (message: SipText): string =>
  /;\s*branch\s*=\s*([^;,\s]+)/i.exec(fieldOf(message, 'via'))?.[1] ?? ''

/**
 * The fields as drachtio's client takes them, by name. Several of one name are joined by commas, as RFC 3261 §7.3 has it; challenges, whose
 * commas are their own (§7.3.1), stay on lines of their own.
 */
export function headersOf(fields: readonly [string, string][]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of fields) {
    const before = headers[name]
    const glue = OWN_LINES.has(canonicalName(name)) ? `\r\n${name}: ` : ', '
    headers[name] = before === undefined ? value : `${before}${glue}${value}`
  }
  return headers
}

const OWN_LINES = new Set(['www-authenticate', 'proxy-authenticate', 'authorization', 'proxy-authorization'])
