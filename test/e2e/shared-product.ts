import { Product } from '../../bench/product.ts'

/** What decides where calls go: what a file has made of it is gone when the next one begins. Who refers to others comes before them. */
const ROUTING = ['/inbound_routes', '/phone_numbers', '/connections']

/** With the IDs of what it came with. */
let shared: { product: Product; own: ReadonlySet<string> } | null = null

/**
 * A product as it comes, for a file that minds no calls and people of earlier ones, and leaves organisation and settings as they are:
 * a start takes two seconds of a core, so that the files that a process runs share it. `curtain` gives it back.
 */
export async function sharedProduct(): Promise<Product> {
  if (shared !== null && (await serves(shared.product))) return shared.product
  await stopShared()
  const product = await Product.start()
  shared = { product, own: new Set(await routingOf(product)) }
  return product
}

/** Makes it ready for the next file; false: it is not the shared one, or this process runs no other file. */
export async function giveBack(product: Product | undefined): Promise<boolean> {
  if (shared === null || shared.product !== product || !process.connected) return false
  for (const path of await routingOf(product).catch(() => [])) {
    if (!shared.own.has(path)) await product.api('DELETE', path)
  }
  return true
}

/** The path of each. */
async function routingOf(product: Product): Promise<string[]> {
  const paths: string[] = []
  for (const path of ROUTING) for (const { id } of await product.all(path)) paths.push(`${path}/${id}`)
  return paths
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
