import type { Schema } from '../../kernel/versions/shape.ts'
import { escapeHtml } from './html.ts'

interface Row {
  path: string
  type: string
  required: boolean
  notes: string
}

/** The fields of an object as a table, one row per field, nested ones by path. Empty for an object without fields. */
export function schemaTable(schema: Schema, showRequired: boolean): string {
  const rows = fieldRows(schema, '')
  if (rows.length === 0) return ''
  const body = rows.map(row => {
    const need = showRequired && row.required ? ' <b>required</b>' : ''
    return `<tr><td><code>${escapeHtml(row.path)}</code></td><td><span class="type">${escapeHtml(row.type)}</span>${need}</td><td>${escapeHtml(row.notes)}</td></tr>`
  })
  return `<table><thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${body.join('\n')}</tbody></table>`
}

function fieldRows(schema: Schema, prefix: string): Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = prefix + name
    const row = {
      path,
      type: typeName(field),
      required: schema.required?.includes(name) ?? false,
      notes: notes(field),
    }
    const parts = field.anyOf?.filter(part => part.type !== 'null') ?? [field]
    return [row, ...parts.flatMap(part => innerRows(part, path))]
  })
}

function innerRows(schema: Schema, path: string): Row[] {
  if (schema.type === 'array' && schema.items !== undefined) return fieldRows(schema.items, `${path}[].`)
  return fieldRows(schema, `${path}.`)
}

function typeName(schema: Schema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeName).join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(value => JSON.stringify(value)).join(', ')
  if (schema.type === 'array') return schema.items === undefined ? 'array' : `${typeName(schema.items)}[]`
  return [schema.type ?? 'any'].flat().join(' or ')
}

function notes(schema: Schema): string {
  const facts = [
    schema.description,
    schema.minimum !== undefined || schema.maximum !== undefined
      ? `${schema.minimum ?? ''} to ${schema.maximum ?? ''}`.trim()
      : undefined,
    schema.maxLength === undefined ? undefined : `${schema.minLength ?? 0} to ${schema.maxLength} characters`,
    schema.default === undefined || schema.default === '' ? undefined : `default ${JSON.stringify(schema.default)}`,
  ]
  return facts.filter(fact => fact !== undefined && fact !== '').join('; ')
}
