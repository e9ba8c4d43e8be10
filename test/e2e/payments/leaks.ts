// Searches everything that the product writes for keys of a card-payment pause, which must be nowhere.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Product } from '../../../bench/product.ts'
import { openVault } from '../../../control/kernel/vault.ts'

/**
 * Text with digits that, by its form, cannot be pressed keys: in the output of one minute, about ten of these contain four digits of a secret by
 * chance. They are searched only for eight in a row.
 */
const NO_KEYS = new RegExp(
  [
    /(?<=^(?:tandem|process|nodejs)_\w+(?:\{[^}]*\})?) [\d.e+-]+$/, // the value of a metric
    /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?)?/, // a day, or a time of RFC 3339
    new RegExp(`\\b${String(Date.now()).slice(0, 4)}\\d{6}(?:\\d{3})?\\b`), // a time of these days, since 1970
    /_01[\da-z]{8,24}/, // an identifier of ours, at the end of a page cut short, or written over in part
    /(?=\d*[a-f])[\da-f]{12,}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/, // a tag, a branch, a UUID
    /(?=[\w+/-]*[A-Z])(?=[\w+/-]*[a-z])[\w+/-]{20,}=*/, // a token or a hash in base 64
    /\d+\.\d+\.\d+\.\d+(?::\d+)?|localhost:\d+|rport=\d+|m=audio \d+|a=rtcp:\d+/, // an address with its port
    /o=tandem \d+|CSeq: \d+/, // random numbers of sessions and of requests (RFC 8866 5.2, RFC 3261 8.1.1.5)
    /\d+\.\d{5,}/, // a measured fraction
    // Measures, rows, and random numbers of rows' states, by their names.
    /\\*"(?:\w*_)?(?:ms|s|sec|usec|msw|lsw|bytes|octets|packets|sent|seq_no|ssrc|timestamp|quantity|port|pid|rowid|time|id|block|revision)\\*":-?\d+/,
    /\\*"\w+(?:Ms|Bytes|Sent|Port|Hz)\\*":-?\d+/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
)

const partsOf = (secrets: readonly string[], length: number): string[] =>
  secrets.flatMap(secret =>
    Array.from({ length: Math.max(0, secret.length - length + 1) }, (_, at) => secret.slice(at, at + length)),
  )

/** Finds eight digits of a secret in a row anywhere, and four in text that may hold keys, with the text around them. */
function piecesIn(text: string, secrets: readonly string[]): string[] {
  const suspects = partsOf(secrets, 4).filter(part => text.includes(part))
  // Recordings, the most of it, have hardly any.
  const rest = suspects.length === 0 ? '' : text.replace(NO_KEYS, ' ')
  const fours = suspects.flatMap(part => {
    const at = rest.indexOf(part)
    return at < 0 ? [] : [rest.slice(Math.max(0, at - 30), at + 20)]
  })
  return [...partsOf(secrets, 8).filter(part => text.includes(part)), ...fours]
}

/** Finds pieces of secrets, and single keys in fields for keys. Keys that are no secret are ones. */
export const leaksIn = (text: string, secrets: readonly string[]): string[] => [
  ...piecesIn(text, secrets),
  ...(text.match(/"(digit|digits|key|dtmf)":\s*"[0-9A-D*#]*[02-9][0-9A-D*#]*"|Signal *= *[02-9]/g) ?? []),
]

/** Finds pieces of secrets in the product's files, including its database and recordings; not single keys, which settings have too. */
export function leaksInFiles(product: Product, secrets: readonly string[]): string[] {
  const files = readdirSync(product.dataDir, { recursive: true, withFileTypes: true })
  // A `.pid` file contains only the ID of a process.
  const searched = files.filter(file => file.isFile() && !file.name.endsWith('.pid'))
  return searched.flatMap(({ name, parentPath }) =>
    piecesIn(readFileSync(join(parentPath, name), 'latin1'), secrets).map(piece => `${name} holds ${piece}`),
  )
}

/** All rows of all tables, with encrypted values decrypted. */
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
