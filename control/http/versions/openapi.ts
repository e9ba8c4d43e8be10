import { API_VERSIONS } from '../../kernel/versions/all.ts'
import type { Schema } from '../../kernel/versions/shape.ts'
import type { ApiVersion } from '../../kernel/versions/version.ts'
import { olderOperation } from './translate.ts'

interface Content {
  content?: Record<string, { schema: Schema }>
}
interface Operation {
  operationId: string
  requestBody?: Content
  responses: Record<string, Content>
}
interface Document {
  info: object
  paths: Record<string, Record<string, object>>
}

/** The description of the current API, converted to an older version. */
export function documentOf<D extends Document>(
  current: D,
  version: string,
  versions: readonly ApiVersion[] = API_VERSIONS,
): D {
  const document = structuredClone(current)
  document.info = { ...document.info, version }
  for (const operation of Object.values(document.paths).flatMap(methods => Object.values(methods)) as Operation[]) {
    const { operationId: id, requestBody, responses } = operation
    const bodies = Object.values(requestBody?.content ?? {})
    const replies = Object.values(responses).flatMap(({ content }) => Object.values(content ?? {}))
    for (const part of bodies) {
      part.schema = olderOperation({ id, body: part.schema, reply: {} }, version, versions)?.body ?? part.schema
    }
    for (const part of replies) {
      part.schema = olderOperation({ id, reply: part.schema }, version, versions)?.reply ?? part.schema
    }
  }
  return document
}
