import { firstElement } from '../../../sip/message/headers.ts'
import { canonicalName, type SipRequest } from '../../../sip/message/message.ts'

/** A request that was read, as bytes; `topVia`: with the real source of it. */
export function bytesOf({ method, uri, headers, body }: SipRequest, topVia: string): Buffer {
  const vias = [topVia, ...headers.list('via').slice(1)].map(value => `Via: ${value}`)
  const fields = headers.entries().flatMap(([name, value]) => (name === 'via' ? [] : [`${name}: ${value}`]))
  const head = [`${method} ${uri} SIP/2.0`, ...vias, ...fields, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head, 'latin1'), body])
}

/** The same message with other lines in its head; a header field that is continued on further lines is one. */
export function edited(bytes: Uint8Array, edit: (lines: string[]) => string[]): Buffer {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').trimStart()
  const end = text.indexOf('\r\n\r\n')
  const lines = text.slice(0, end).split(/\r\n(?![ \t])/)
  return Buffer.from(edit(lines).join('\r\n') + text.slice(end), 'latin1')
}

const nameOf = (line: string): string => canonicalName(line.slice(0, Math.max(0, line.indexOf(':'))).trim())

export const without = (lines: readonly string[], names: ReadonlySet<string>): string[] =>
  lines.filter(line => !names.has(nameOf(line)))

/** Several values may share a line. */
export function withoutFirstVia(lines: readonly string[]): string[] {
  const at = lines.findIndex((line, i) => i > 0 && nameOf(line) === 'via')
  const line = lines[at]!
  const values = line.slice(line.indexOf(':') + 1).trimStart()
  const others = values.slice(firstElement(values).length).replace(/^\s*,\s*/, '')
  return [...lines.slice(0, at), ...(others.trim() === '' ? [] : [`Via: ${others}`]), ...lines.slice(at + 1)]
}
