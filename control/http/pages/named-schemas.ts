import type { Schema } from '../../kernel/versions/shape.ts'
import { pascal } from '../plain-resource.ts'
import { kindOf } from '../versions/translate.ts'

type Reference = Schema & { $ref: string }

/**
 * The schemas of objects, each once and under its own name, for client generators: `Call`, `TeamList`,
 * `DeletedTeam`, or the `title` of a kind of object that has several shapes.
 */
export class NamedSchemas {
  readonly all: Record<string, Schema> = {}

  /** The schema, with every API object in it replaced by a reference. */
  named(schema: Schema): Schema {
    const inner: Schema = {
      ...schema,
      ...(schema.anyOf && { anyOf: schema.anyOf.map(part => this.named(part)) }),
      ...(schema.items && { items: this.named(schema.items) }),
      ...(schema.properties && {
        properties: Object.fromEntries(
          Object.entries(schema.properties).map(([name, field]) => [name, this.named(field)]),
        ),
      }),
    }
    const name = nameOf(inner)
    return name === null ? inner : this.add(name, inner)
  }

  /** Two shapes must not share a name: give them a `title`. */
  add(name: string, schema: Schema): Reference {
    const known = this.all[name]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two schemas are called ${name}`)
    }
    this.all[name] = schema
    return { $ref: `#/components/schemas/${name}` }
  }
}

function nameOf(schema: Schema): string | null {
  const kind = kindOf(schema)
  if (kind === undefined) return null
  if (schema.title !== undefined) return schema.title
  if (schema.properties?.deleted !== undefined) return `Deleted${pascal(kind)}`
  if (kind !== 'list') return pascal(kind)
  const items = (schema.properties?.data?.items as Reference | undefined)?.$ref
  return items === undefined ? null : `${items.slice(items.lastIndexOf('/') + 1)}List`
}
