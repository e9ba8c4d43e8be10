import pg from 'pg'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { Product } from '../../../bench/product.ts'

const { TANDEM_TEST_SERVER_URL: server, TANDEM_TEST_DATABASES: databases } = process.env

/** Why two nodes cannot share a database here; null: they can. */
export const missingServer = (): string | null => (server === undefined ? 'TANDEM_TEST_DATABASE_URL is not set' : null)

export async function query(url: string, statement: string): Promise<pg.QueryResult> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Nodes that share a PostgreSQL database of their own, at `url`: one with each of these settings, besides those of all. `addNode`: one more. */
export async function startNodes<const Own extends readonly Record<string, string>[]>(
  own: Own,
  env: Record<string, string> = {},
): Promise<{ nodes: { [N in keyof Own]: Product }; url: string; addNode: () => Promise<Product> }> {
  const name = `${databases}_${process.pid}_${databasesMade++}`
  await query(server!, `create database "${name}"`)
  const url = new URL(server!)
  url.pathname = `/${name}`
  const start = async (settings: Record<string, string> = {}): Promise<Product> => {
    const port = String(await freePort())
    const address = { TANDEM_HTTP_PORT: port, TANDEM_NODE_URL: `http://127.0.0.1:${port}` }
    return Product.start({ env: { TANDEM_DATABASE_URL: url.href, ...env, ...settings, ...address } })
  }
  const nodes = await Promise.all(own.map(settings => start(settings)))
  const { rows } = await query(url.href, 'select id from nodes where sip is not null')
  assert.is(rows.length, nodes.length, 'the nodes know each other as soon as they are ready')
  return { nodes: nodes as { [N in keyof Own]: Product }, url: url.href, addNode: start }
}

let databasesMade = 0

export const startTwoNodes = (env: Record<string, string> = {}) => startNodes([{}, {}], env)
