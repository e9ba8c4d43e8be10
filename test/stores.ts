/** Which tests open a store, and so run on SQLite and again on PostgreSQL, and what that server needs. */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

const root = fileURLToPath(new URL('.', import.meta.url))
const DATABASES = 'control/database.ts'
const IMPORT = /from '(\.[^']+)'/g

/** Whether a test file (its path relative to `test/`) imports `control/database.ts`, directly or through others. */
export function opensStore(path: string, seen = new Set<string>()): boolean {
  if (path === DATABASES) return true
  if (seen.has(path) || path.startsWith('..')) return false
  seen.add(path)
  return [...readFileSync(join(root, path), 'utf8').matchAll(IMPORT)].some(([, name]) =>
    opensStore(normalize(join(dirname(path), name!)), seen),
  )
}

/** Why tests cannot run on this server, or null. */
export async function serverProblem(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  try {
    await client.connect()
    const { rows } = await client.query(
      'select rolcreatedb or rolsuper as may from pg_roles where rolname = current_user',
    )
    return rows[0].may ? null : 'its user may not create databases'
  } catch (error) {
    return (error as Error).message
  } finally {
    await client.end().catch(() => {})
  }
}

/** Removes the databases whose names begin with the prefix. */
export async function dropDatabases(url: string, prefix: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('select datname as name from pg_database where starts_with(datname, $1)', [
    prefix,
  ])
  for (const { name } of rows) await client.query(`drop database if exists "${name}" with (force)`)
  await client.end()
}
