/** Where what was typed in a card-payment pause might have been left: nowhere. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Product } from '../../../bench/product.ts'
import { openVault } from '../../../control/kernel/vault.ts'

const partsOf = (secrets: readonly string[], length: number): string[] =>
  secrets.flatMap(secret =>
    Array.from({ length: Math.max(0, secret.length - length + 1) }, (_, at) => secret.slice(at, at + length)),
  )

/** Six of a secret in a row anywhere, four as a string of keys, or one as a key. Keys that are no secret are ones. */
export function leaksIn(text: string, secrets: readonly string[]): string[] {
  const whole = partsOf(secrets, 6).filter(part => text.includes(part))
  const strings = text.match(/"[0-9*#A-D]{4,64}"/g) ?? []
  const fours = partsOf(secrets, 4)
  const pieces = strings.filter(found => fours.some(part => found.includes(part)))
  const single = text.match(/"(digit|digits|key|dtmf)":\s*"[0-9A-D*#]*[02-9][0-9A-D*#]*"|Signal=[02-9]/g) ?? []
  return [...whole, ...pieces, ...single]
}

/** The files of the product, its database among them, that hold six of a secret in a row. */
export function filesWith(product: Product, secrets: readonly string[]): string[] {
  const parts = partsOf(secrets, 6)
  const files = readdirSync(product.dataDir, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
  return files.flatMap(({ name, parentPath }) => {
    const bytes = readFileSync(join(parentPath, name))
    return parts.filter(part => bytes.includes(part)).map(part => `${name} holds ${part}`)
  })
}

/** All rows of all tables, and what is sealed in them. */
export function rowsOf(product: Product): [table: string, rows: string][] {
  const db = new Database(join(product.dataDir, 'tandem.db'), { readonly: true })
  const vault = openVault(product.dataDir)
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[]
  const rows = tables.map(({ name }): [string, string] => [
    name,
    JSON.stringify(db.prepare(`SELECT * FROM "${name}"`).all()),
  ])
  const sealed = db.prepare('SELECT id, state AS text FROM call_programs WHERE state IS NOT NULL').all()
  const inputs = db.prepare('SELECT call_id AS id, body AS text FROM call_inputs').all()
  db.close()
  const opened = [...sealed, ...inputs].map(row => {
    const { id, text } = row as { id: string; text: string }
    return vault.open(text, id)
  })
  return [...rows, ['sealed', opened.join('\n')]]
}
