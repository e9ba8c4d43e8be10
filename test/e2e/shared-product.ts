import { isDeepStrictEqual } from 'node:util'
import { Product } from '../../bench/product.ts'

/** What decides where calls go: what a file has made of it is gone when the next one begins. Who refers to others comes before them. */
const ROUTING = ['/inbound_routes', '/phone_numbers', '/connections']

// biome-ignore lint/suspicious/noExplicitAny: settings of every shape
type Settings = Record<string, any>

/** With what it came with. */
let shared: { product: Product; own: ReadonlySet<string>; settings: Settings } | null = null

/**
 * A product as it comes, for a file that minds no calls and people of earlier ones, and changes nothing that was there but the organisation's settings:
 * a start takes two seconds of a core, so that the files that a process runs share it. `curtain` gives it back.
 */
export async function sharedProduct(): Promise<Product> {
  if (shared !== null && (await serves(shared.product))) return shared.product
  await stopShared()
  const product = await Product.start()
  shared = { product, own: new Set(await routingOf(product)), settings: await settingsOf(product) }
  return product
}

/** Makes it ready for the next file; false: it is not the shared one, or this process runs no other file. */
export async function giveBack(product: Product | undefined): Promise<boolean> {
  if (shared === null || shared.product !== product || !process.connected) return false
  // Whoever has failed may have left it without a control.
  if (!(await serves(product))) return true
  for (const path of await routingOf(product)) {
    if (!shared.own.has(path)) await product.api('DELETE', path)
  }
  await restore(product, shared.settings)
  return true
}

async function settingsOf(product: Product): Promise<Settings> {
  const { updated, ...settings } = await product.ok('GET', '/organisation')
  return settings
}

async function restore(product: Product, before: Settings): Promise<void> {
  const now = await settingsOf(product)
  const changed = Object.entries(before).filter(([name, value]) => !isDeepStrictEqual(value, now[name]))
  if (changed.length > 0) await product.ok('PATCH', '/organisation', Object.fromEntries(changed))
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
