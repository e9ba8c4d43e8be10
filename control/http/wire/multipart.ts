import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Problem, problem } from '../errors.ts'
import type { Upload } from '../route.ts'

const MAX_FIELDS = 20
const MAX_FIELD_BYTES = 64 * 1024
const MAX_PARTS = 32
/** The JSON around a file, and the parameters beside it. */
const JSON_MARGIN_BYTES = 256 * 1024

/** The longest JSON body of an operation that takes a file: base64 writes three octets as four characters. */
export const uploadBodyLimit = ({ maxBytes }: Upload): number => Math.ceil(maxBytes / 3) * 4 + JSON_MARGIN_BYTES

export async function acceptMultipart(app: FastifyInstance): Promise<void> {
  await app.register(multipart)
}

/**
 * A `multipart/form-data` body in the shape of the JSON one, so that one schema and one handler serve both: the part `file`
 * becomes `file: {content_base64, filename}`, every other part a string parameter of its name.
 */
export async function readMultipart(request: FastifyRequest, upload: Upload): Promise<object | Problem> {
  const body: Record<string, unknown> = Object.create(null)
  const limits = {
    fileSize: upload.maxBytes,
    files: 1,
    fields: MAX_FIELDS,
    fieldSize: MAX_FIELD_BYTES,
    parts: MAX_PARTS,
  }
  try {
    for await (const part of request.parts({ limits })) {
      if (part.fieldname in body)
        return problem('parameter_invalid', 'A part was sent twice.', { param: part.fieldname })
      if (part.type === 'file') {
        const content = await part.toBuffer()
        const { filename } = part
        body[part.fieldname] = { content_base64: content.toString('base64'), ...(filename ? { filename } : {}) }
      } else if (part.valueTruncated) {
        return problem('parameter_invalid', `${part.fieldname} is too long.`, { param: part.fieldname })
      } else body[part.fieldname] = part.value
    }
  } catch (error) {
    return multipartProblem(error as { code?: string; message: string }, upload)
  }
  return { ...body }
}

const multipartProblem = ({ code, message }: { code?: string; message: string }, upload: Upload): Problem =>
  code === 'FST_REQ_FILE_TOO_LARGE'
    ? tooLarge(upload)
    : problem('parameter_invalid', `The multipart body cannot be read: ${message}.`)

export const tooLarge = (upload: Upload): Problem =>
  problem(upload.tooLarge, `The file has more than ${upload.maxBytes} bytes.`, { param: 'file' })
