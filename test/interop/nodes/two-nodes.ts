import pg from 'pg'
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

/** Two nodes that share a PostgreSQL database of their own, at `url`. */
export async function startTwoNodes(
  env: Record<string, string> = {},
  suffix = '',
): Promise<{ nodes: [Product, Product]; url: string }> {
  const name = `${databases}_${process.pid}${suffix}`
  await query(server!, `create database "${name}"`)
  const url = new URL(server!)
  url.pathname = `/${name}`
  const start = async (): Promise<Product> => {
    const port = String(await freePort())
    const own = { TANDEM_HTTP_PORT: port, TANDEM_NODE_URL: `http://127.0.0.1:${port}` }
    return Product.start({ env: { TANDEM_DATABASE_URL: url.href, ...env, ...own } })
  }
  const nodes = await Promise.all([start(), start()])
  await nodes[0].until('the nodes know each other', async () => {
    const { rows } = await query(url.href, 'select id from nodes where sip is not null')
    return rows.length === nodes.length ? true : null
  })
  return { nodes, url: url.href }
}
