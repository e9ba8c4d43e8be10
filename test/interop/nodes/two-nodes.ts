import pg from 'pg'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import type { Phone, SipAddress } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { Product } from '../../../bench/product.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { bracketed } from '../../../sip/message/uri.ts'
import { HEARD_DBOV } from '../../e2e/scene.ts'

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

/**
 * Nodes that share a PostgreSQL database of their own, at `url`: one with each of these settings, besides those of all. `addNode`: one more.
 * `host`: where they find each other.
 */
export async function startNodes<const Own extends readonly Record<string, string>[]>(
  own: Own,
  env: Record<string, string> = {},
  host = '127.0.0.1',
): Promise<{ nodes: { [N in keyof Own]: Product }; url: string; addNode: AddNode }> {
  const name = `${databases}_${process.pid}_${databasesMade++}`
  await query(server!, `create database "${name}"`)
  const url = new URL(server!)
  url.pathname = `/${name}`
  const start: AddNode = async (settings = {}) => {
    const port = String(await freePort())
    const address = { TANDEM_HTTP_PORT: port, TANDEM_NODE_URL: `http://${bracketed(host)}:${port}` }
    return Product.start({ env: { TANDEM_DATABASE_URL: url.href, ...env, ...settings, ...address } })
  }
  const nodes = await Promise.all(own.map(settings => start(settings)))
  const { rows } = await query(url.href, 'select id from nodes where sip is not null')
  assert.is(rows.length, nodes.length, 'the nodes know each other as soon as they are ready')
  return { nodes: nodes as { [N in keyof Own]: Product }, url: url.href, addNode: start }
}

type AddNode = (settings?: Record<string, string>) => Promise<Product>

let databasesMade = 0

export const hears = (node: Product, call: PhoneCall, hz: number, aboveDbov = HEARD_DBOV): Promise<true> =>
  node.until(`${hz} Hz is heard`, async () => (levelAt(hz, await call.heard.next(200)) > aboveDbov ? true : null))

/** A call to this number at a node, which this phone takes: the caller's end and the phone's. The caller says 440 Hz. */
export async function taken(
  caller: Phone,
  number: string,
  at: SipAddress,
  phone: Phone,
): Promise<[PhoneCall, PhoneCall]> {
  const calling = caller.dial(number, at)
  const ringing = await phone.next()
  ringing.answer()
  const call = await calling
  assert.is((await call.outcome).status, 200)
  call.say(tone(440))
  return [call, ringing]
}

export const startTwoNodes = (env: Record<string, string> = {}) => startNodes([{}, {}], env)
