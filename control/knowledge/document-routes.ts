import Type, { type Static } from 'typebox'
import { decodeBase64 } from '../http/base64.ts'
import type { Context } from '../http/context.ts'
import { invalid, missing, needed, type Problem } from '../http/errors.ts'
import { deleteRoute, listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type RawAnswer, type Route } from '../http/route.ts'
import { appendEvent } from '../kernel/events/log.ts'
import { newId } from '../kernel/ids.ts'
import { enqueue } from '../kernel/jobs/queue.ts'
import { idParams, input, metadata, objectName } from '../kernel/schema.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import { forTenant, ownedBy, type Tenant } from '../kernel/tenancy.ts'
import { release } from '../usage/ledger.ts'
import { addDocument } from './add-document.ts'
import { type KbDocument, kbDocumentSchema, toKbDocument } from './document-schema.ts'
import { passagesOf, readText } from './passages.ts'
import type { PassageSearch } from './search.ts'

const api = operations('Knowledge base', 'kb')

interface KbDocumentDeps {
  store: Store
  now: () => Date
  search: PassageSearch
  /** Removes a deleted document from the lists that contain it. */
  forgetDocument: (trx: Trx, tenant: Tenant, id: string, at: string) => Promise<void>
}

const MAX_BYTES = 2 * 1024 * 1024

const createBody = input({
  name: Type.Optional(objectName('Default: the name of the file.')),
  text: Type.Optional(Type.String({ maxLength: MAX_BYTES, description: 'The document itself; or send `file`.' })),
  file: Type.Optional(
    input({
      content_base64: Type.String({ description: 'A file of UTF-8 text, such as Markdown, base64.' }),
      filename: Type.Optional(Type.String({ maxLength: 255, pattern: '\\S' })),
    }),
  ),
  metadata: Type.Optional(metadata),
})
type Create = Static<typeof createBody>

export function kbDocumentRoutes(deps: KbDocumentDeps): Route[] {
  const plain = plainOf({
    store: deps.store,
    table: 'kb_documents',
    path: '/kb/documents',
    api,
    reply: kbDocumentSchema,
    toObject: toKbDocument,
  })
  return [
    api.post({
      path: '/kb/documents',
      id: 'createKbDocument',
      summary: 'Add a document',
      description:
        'Plain text or Markdown of at most 2 MB: `text`, or `file` in JSON or as a part of `multipart/form-data`. ' +
        'A file that is not text becomes a document with status `failed`.',
      upload: { maxBytes: MAX_BYTES, tooLarge: 'parameter_invalid', orText: true },
      body: createBody,
      status: 201,
      errors: [409],
      reply: kbDocumentSchema,
      handler: (context, { body }) => createDocument(deps, context, body),
    }),
    listRoute(plain),
    retrieveRoute(plain),
    api.get({
      path: '/kb/documents/:id/content',
      id: 'getKbDocumentContent',
      summary: 'Download a document',
      description: 'The text or file as it was sent, byte for byte.',
      params: idParams,
      reply: Type.String({ format: 'binary' }),
      rawType: 'application/octet-stream',
      errors: [404],
      handler: (context, { params }) => download(deps, context, params.id),
    }),
    deleteRoute(plain, {
      description:
        'Also deletes its passages and the stored original. Assistants and the copilot stop using it at once. It is removed from their lists, ' +
        'except as the last entry, because an empty list means all documents.',
      before: async (trx, context, { id }) => {
        const scoped = forTenant(trx, context)
        const { organisationId, livemode } = context
        const job = { tenant: { organisationId, livemode }, document_id: id }
        await enqueue(trx, 'kb.forget', job, { now: deps.now(), organisationId, key: id })
        await scoped.delete('kb_passages').where('document_id', '=', id).execute()
        await scoped.delete('kb_originals').where('id', '=', id).execute()
        const at = deps.now().toISOString()
        await deps.forgetDocument(trx, context, id, at)
        await release(trx, context, id, at)
        return null
      },
    }),
  ]
}

async function download({ store }: KbDocumentDeps, context: Context, id: string): Promise<RawAnswer | Problem> {
  const scoped = forTenant(store.db, context)
  const [document, original] = [await scoped.find('kb_documents', id), await scoped.find('kb_originals', id)]
  if (document === undefined || original === undefined) return missing('kb_document', id)
  return {
    raw: Buffer.from(original.content, 'base64'),
    status: 200,
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename*=UTF-8''${encoded(document.name)}`,
    },
  }
}

/** RFC 8187 §3.2.1: an apostrophe, which ends the name of the language, and what stands for more elsewhere are encoded, too. */
const encoded = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

async function createDocument(deps: KbDocumentDeps, context: Context, body: Create): Promise<KbDocument | Problem> {
  const original = originalOf(body)
  if ('problem' in original) return original
  const read = readText(original.bytes)
  const texts = 'text' in read ? passagesOf(read.text) : []
  const { filename = 'Document' } = body.file ?? {}
  const row = {
    id: newId('kb_document'),
    name: body.name ?? filename,
    status: 'text' in read ? ('ready' as const) : ('failed' as const),
    error: 'text' in read ? null : read.error,
    size_bytes: original.bytes.length,
    passage_count: texts.length,
    metadata: JSON.stringify(body.metadata ?? {}),
    created: deps.now().toISOString(),
  }
  const document = toKbDocument({ ...row, ...ownedBy(context) })
  return context.transaction(async trx => {
    await addDocument(trx, context, deps.search, { row, original: original.bytes, passages: texts })
    const type = row.status === 'ready' ? 'kb.document.ready' : 'kb.document.failed'
    await appendEvent(trx, context, { type, at: row.created, object: document })
    return document
  })
}

function originalOf({ text, file }: Create): { bytes: Buffer } | Problem {
  if (text !== undefined && file !== undefined) return invalid('file', 'Send text or file, not both.')
  if (text === undefined && file === undefined) return needed('text', 'Missing required parameter: text.')
  const bytes = file === undefined ? Buffer.from(text ?? '') : decodeBase64(file.content_base64)
  if (bytes === null) return invalid('file.content_base64', 'Not base64.')
  return bytes.length <= MAX_BYTES
    ? { bytes }
    : invalid(file === undefined ? 'text' : 'file', `The document has ${bytes.length} bytes, more than ${MAX_BYTES}.`)
}
