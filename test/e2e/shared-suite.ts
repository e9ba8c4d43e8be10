import type { Product } from '../../bench/product.ts'
import { type Suite, suite, type TestOptions } from '../harness.ts'
import { curtain } from './scene.ts'
import { sharedProduct } from './shared-product.ts'

/** The product of the `sharedSuite` that runs now. */
export let product: Product

/** A suite whose tests use the shared product: `product`, from its hooks `before` on. */
export function sharedSuite(title: string, all?: TestOptions): Suite {
  const test = suite(title, all)
  test.before(async () => {
    product = await sharedProduct()
  })
  test.after(() => curtain(product))
  return test
}
