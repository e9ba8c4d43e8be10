import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type Problem, problem } from '../errors.ts'
import type { RawAnswer } from '../route.ts'
import { byteRange } from './range.ts'

/** Something that can be downloaded, from any storage. */
interface Download {
  /** [bytes] */
  size: number
  /** The bytes from `first` to `last`, both inclusive; all by default. */
  read(first?: number, last?: number): Readable
}

/** [bytes]; null: there is no such file. */
export const sizeOf = async (path: string): Promise<number | null> => (await stat(path).catch(() => null))?.size ?? null

/** A file, or the part that the `Range` header asks for; null if it does not exist. */
export async function fileAnswer(
  path: string,
  contentType: string,
  range: string | string[] | undefined,
): Promise<RawAnswer | Problem | null> {
  const size = await sizeOf(path)
  if (size === null) return null
  const read = (start?: number, end?: number): Readable =>
    createReadStream(path, start === undefined || end === undefined ? {} : { start, end })
  return downloadAnswer({ size, read }, contentType, range)
}

/** A download, or the part that the `Range` header asks for. */
export function downloadAnswer(
  { size, read }: Download,
  contentType: string,
  range: string | string[] | undefined,
): RawAnswer | Problem {
  const part = byteRange(typeof range === 'string' ? range : undefined, size)
  if (part === 'unsatisfiable') {
    // RFC 9110 §14.4: with 416, the range that would be valid.
    const headers = { 'Content-Range': `bytes */${size}` }
    return problem('range_not_satisfiable', `The file has ${size} bytes.`, { details: { size_bytes: size }, headers })
  }
  const headers = { 'Content-Type': contentType, 'Accept-Ranges': 'bytes' }
  if (part === null) return { raw: read(), status: 200, headers: { ...headers, 'Content-Length': size } }
  const { first, last } = part
  return {
    raw: read(first, last),
    status: 206,
    headers: { ...headers, 'Content-Length': last - first + 1, 'Content-Range': `bytes ${first}-${last}/${size}` },
  }
}
