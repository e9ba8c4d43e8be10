import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import multipart, { type MultipartFile } from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalid, type Problem, problem } from '../errors.ts'
import type { Spooled, Upload } from '../route.ts'

const MAX_FIELDS = 20
const MAX_FIELD_BYTES = 64 * 1024
const MAX_PARTS = 32
/** What a field's reader puts for bytes that are not UTF-8: kept, they would be other characters than were sent. */
const REPLACEMENT = '\ufffd'
/** Room for the JSON around a file, and for the other parameters. */
const JSON_MARGIN_BYTES = 256 * 1024

/** The maximum JSON body of an operation that takes a file: base64 writes three octets as four characters. */
export const uploadBodyLimit = ({ maxBytes, spool, orText }: Upload): number =>
  (orText === true ? maxBytes * 6 : Math.ceil((spool?.jsonBytes ?? maxBytes) / 3) * 4) + JSON_MARGIN_BYTES

export async function acceptMultipart(app: FastifyInstance): Promise<void> {
  await app.register(multipart)
}

/**
 * A `multipart/form-data` body in the shape of the JSON one, so that one schema and one handler serve both. The part `file`
 * becomes `file: {content_base64, filename}` (for a route that spools: `content_sha256`, and the file is on disk). Every other part becomes
 * the parameter of its name: a string, or the value of its JSON if it says that it is JSON or if the parameter is no string.
 */
export async function readMultipart(
  request: FastifyRequest,
  { upload, body: schema }: { upload: Upload; body?: unknown },
): Promise<{ body: object; spooled: Spooled | null } | Problem> {
  const body: Record<string, unknown> = Object.create(null)
  let spooled: Spooled | null = null
  const limits = {
    fileSize: upload.maxBytes,
    // A browser's FormData sends JSON as a file too.
    files: MAX_FIELDS + 1,
    fields: MAX_FIELDS,
    fieldSize: MAX_FIELD_BYTES,
    parts: MAX_PARTS,
  }
  try {
    for await (const part of request.parts({ limits })) {
      if (part.fieldname in body) throw Object.assign(new Error('A part was sent twice'), { param: part.fieldname })
      if (part.type === 'file' && part.fieldname !== 'file') {
        body[part.fieldname] = await jsonIn(part)
      } else if (part.type === 'file') {
        const { filename } = part
        const named = filename ? { filename } : {}
        if (upload.spool === undefined) {
          const content = await part.toBuffer()
          body[part.fieldname] = { content_base64: content.toString('base64'), ...named }
        } else {
          const { sha256, ...file } = await spool(part.file)
          spooled = file
          body[part.fieldname] = { content_sha256: sha256, ...named }
        }
      } else if (part.valueTruncated || String(part.value).includes(REPLACEMENT)) {
        const fault = part.valueTruncated ? 'too long' : 'not UTF-8'
        throw Object.assign(new Error(`${part.fieldname} is ${fault}`), { param: part.fieldname })
      } else body[part.fieldname] = typed(part.value, propertyOf(schema, part.fieldname))
    }
  } catch (error) {
    if (spooled !== null) await unspool(spooled)
    return multipartProblem(error as Error & { code?: string; param?: string }, upload)
  }
  return { body: { ...body }, spooled }
}

interface Shape {
  type?: string
  const?: unknown
  anyOf?: Shape[]
  properties?: Record<string, Shape>
}

const propertyOf = (schema: unknown, name: string): Shape | undefined => {
  const { properties = {} } = (schema ?? {}) as Shape
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}

const takesText = ({ type, const: only, anyOf }: Shape): boolean =>
  type === 'string' || typeof only === 'string' || anyOf?.some(takesText) === true

/** Form fields are text: the schema of the parameter decides what `true` means. Invalid JSON stays unchanged, and validation reports it. */
function typed(value: unknown, shape: Shape | undefined): unknown {
  if (shape === undefined || takesText(shape) || typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** The value of a parameter that was sent as a file. */
async function jsonIn({ fieldname: param, mimetype, file }: MultipartFile): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of file as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= MAX_FIELD_BYTES) chunks.push(chunk)
  }
  const fail = (message: string) => Object.assign(new Error(message), { param })
  if (bytes > MAX_FIELD_BYTES) throw fail(`${param} is too long`)
  if (mimetype !== 'application/json') throw fail(`${param} is no file: only \`file\` is`)
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw fail(`${param} is not JSON`)
  }
}

/** Writes a part to a file of its own that only we can read. Throws if it is too large. */
async function spool(part: Readable & { truncated?: boolean }): Promise<Spooled & { sha256: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tandem-upload-'))
  const path = join(folder, 'file')
  const sha256 = createHash('sha256')
  let bytes = 0
  const measured = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      sha256.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  try {
    await pipeline(part, measured, createWriteStream(path, { mode: 0o600 }))
    if (part.truncated === true) throw Object.assign(new Error('too large'), { code: 'FST_REQ_FILE_TOO_LARGE' })
  } catch (error) {
    await unspool({ path, bytes })
    throw error
  }
  return { path, bytes, sha256: sha256.digest('hex') }
}

/** Idempotent. */
export const unspool = ({ path }: Spooled): Promise<void> => rm(dirname(path), { recursive: true, force: true })

const multipartProblem = (
  { code, message, param }: { code?: string; message: string; param?: string },
  upload: Upload,
): Problem => {
  if (code === 'FST_REQ_FILE_TOO_LARGE') return tooLarge(upload)
  if (param !== undefined) return invalid(param, `${message}.`)
  return problem('parameter_invalid', `The multipart body cannot be read: ${message}.`)
}

export const tooLarge = (upload: Upload): Problem =>
  problem(upload.tooLarge, `The file has more than ${upload.maxBytes} bytes.`, { param: 'file' })
