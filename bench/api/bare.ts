import BetterSqlite3 from 'better-sqlite3'
import Fastify, { type FastifyInstance } from 'fastify'

import { createBody } from '../../control/callbacks/schema.ts'
import { openStore } from '../../control/kernel/store/store.ts'
import { WalSync } from '../../control/kernel/store/wal-sync.ts'

/**
 * The minimal Fastify for the same answers. GET: a route that returns an object, serialised by Fastify's default. POST: parses and
 * validates the body of `POST /callbacks` and answers a callback; `/inserted` also stores it, one INSERT of the same row into the same
 * table of its own SQLite, synced to disk before the answer like the product's.
 */
export async function bareServer(
  file: string,
  row: { id: string; phone: string },
): Promise<{ app: FastifyInstance; serve: (answer: object) => void }> {
  await (await openStore(file)).close()
  const sqlite = new BetterSqlite3(file)
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = NORMAL')
  // The row's organisation does not exist in this database.
  sqlite.pragma('foreign_keys = OFF')
  const names = Object.keys(row)
  const insert = sqlite.prepare(
    `insert into callbacks (${names.join(', ')}) values (${names.map(name => `@${name}`).join(', ')})`,
  )
  const wal = new WalSync(file)
  let served: object = {}
  let made = 0
  const app = Fastify()
  app.get('/', async () => served)
  const schema = { body: JSON.parse(JSON.stringify(createBody)) }
  app.post<{ Body: { phone: string } }>('/echoed', { schema }, async ({ body }) => ({ ...row, ...body }))
  app.post<{ Body: { phone: string } }>('/inserted', { schema }, async ({ body: { phone } }) => {
    const inserted = {
      ...row,
      id: `${row.id.slice(0, -10)}${String(made++).padStart(10, '0')}`,
      phone,
      open_phone: phone,
    }
    insert.run(inserted)
    await wal.sync()
    return inserted
  })
  return { app, serve: answer => (served = answer) }
}
