import { isDeepStrictEqual } from 'node:util'
import { Product } from '../../bench/product.ts'

/**
 * Collections that decide where calls go: objects that a test file has created there are deleted before the next one begins, those that refer to others
 * first. Only numbers stay, which cannot be deleted with a live key.
 */
const ROUTING = ['/inbound_routes', '/phone_numbers', '/connections']

// biome-ignore lint/suspicious/noExplicitAny: objects of every shape
type Fields = Record<string, any>
/** By their paths. */
type Objects = Map<string, Fields>

/** The shared product, and the objects that it had at its start. */
let shared: { product: Product; own: Objects } | null = null

/**
 * A product with default settings, for a test file that does not mind calls and people of earlier ones. The files that a process runs share it, since a
 * start takes two seconds of CPU. `curtain` gives it back, with the organisation's settings, routes, numbers and connections as they were.
 */
export async function sharedProduct(): Promise<Product> {
  if (shared !== null && (await serves(shared.product))) return shared.product
  await stopShared()
  const product = await Product.start()
  shared = { product, own: await objectsOf(product) }
  return product
}

/** Restores the product for the next file; false: it is not the shared one, this process runs no other file, or it could not be restored. */
export async function giveBack(product: Product | undefined): Promise<boolean> {
  if (shared === null || shared.product !== product || !process.connected) return false
  // A failed file may have left it without a control process.
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
