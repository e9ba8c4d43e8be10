import { isDeepStrictEqual } from 'node:util'
import { Product } from '../../bench/product.ts'

/**
 * What decides where calls go: what a file has made of it is gone when the next one begins. Who refers to others comes before them. Only a
 * number stays, which nobody can delete with a live key.
 */
const ROUTING = ['/inbound_routes', '/phone_numbers', '/connections']

// biome-ignore lint/suspicious/noExplicitAny: objects of every shape
type Fields = Record<string, any>
/** By their paths. */
type Objects = Map<string, Fields>

/** With what it came with. */
let shared: { product: Product; own: Objects } | null = null

/**
 * A product as it comes, for a file that minds no calls and people of earlier ones: a start takes two seconds of a core, so that the files
 * that a process runs share it. `curtain` gives it back, with the organisation's settings, routes, numbers and connections as they were.
 */
export async function sharedProduct(): Promise<Product> {
  if (shared !== null && (await serves(shared.product))) return shared.product
  await stopShared()
  const product = await Product.start()
  shared = { product, own: await objectsOf(product) }
  return product
}

/** Makes it ready for the next file; false: it is not the shared one, or this process runs no other file, or it stays changed. */
export async function giveBack(product: Product | undefined): Promise<boolean> {
  if (shared === null || shared.product !== product || !process.connected) return false
  // Whoever has failed may have left it without a control.
  if ((await serves(product)) && (await isRestored(product, shared.own))) return true
  shared = null
  return false
}

async function isRestored(product: Product, own: Objects): Promise<boolean> {
  const answers: number[] = []
  for (const [path, now] of await objectsOf(product)) {
    const before = own.get(path) ?? (path.startsWith('/phone_numbers/') ? { connection_id: null } : undefined)
    const changed = Object.entries(before ?? {}).filter(
      ([name, value]) => name !== 'updated' && !isDeepStrictEqual(value, now[name]),
    )
    if (before === undefined) answers.push((await product.api('DELETE', path)).status)
    else if (changed.length > 0) answers.push((await product.api('PATCH', path, Object.fromEntries(changed))).status)
  }
  return answers.every(status => status < 300)
}

async function objectsOf(product: Product): Promise<Objects> {
  const found: Objects = new Map([['/organisation', await product.ok('GET', '/organisation')]])
  for (const path of ROUTING) for (const one of await product.all(path)) found.set(`${path}/${one.id}`, one)
  return found
}

const serves = (product: Product): Promise<boolean> =>
  fetch(`${product.baseUrl}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )

async function stopShared(): Promise<void> {
  const last = shared
  shared = null
  await last?.product.stop()
}

// There is no further file.
process.once('disconnect', () => void stopShared())
