import { randomUUID } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { type Failed, failed } from './terminal.ts'

/** The body of a request with a file, which is read while it is sent, so it may have any size. */
interface Upload {
  body: Readable
  headers: Record<string, string>
}

/** `multipart/form-data` (RFC 7578): all parameters as JSON, then the file. */
export function uploadOf(
  parameters: Record<string, unknown>,
  { name, path }: { name: string; path: string },
): Upload | Failed {
  let bytes: number
  try {
    const found = statSync(path)
    if (!found.isFile()) return failed(`--${name} ${path} is not a file.`)
    bytes = found.size
  } catch (error) {
    return failed(`--${name}: ${(error as Error).message}`)
  }
  const boundary = `tandem-${randomUUID()}`
  const head = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) => partOf(boundary, { key, filename: 'json', type: 'application/json' }) + JSON.stringify(value),
    )
    .concat(partOf(boundary, { key: name, filename: basename(path), type: 'application/octet-stream' }))
    .join('\r\n')
  const tail = `\r\n--${boundary}--\r\n`
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(head)
    yield* createReadStream(path)
    yield Buffer.from(tail)
  }
  const length = Buffer.byteLength(head) + bytes + Buffer.byteLength(tail)
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-length': String(length) }
  return { body: Readable.from(parts(), { objectMode: false }), headers }
}

const partOf = (boundary: string, { key, filename, type }: { key: string; filename: string; type: string }): string =>
  [
    `--${boundary}`,
    `content-disposition: form-data; name="${quoted(key)}"; filename="${quoted(filename)}"`,
    `content-type: ${type}`,
    '',
    '',
  ].join('\r\n')

/** A quoted string (RFC 7578 §4.2, RFC 2183). */
const quoted = (text: string): string => text.replace(/[\\"]/g, '\\$&').replace(/[\r\n]/g, ' ')
