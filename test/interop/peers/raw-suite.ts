import { product, sharedSuite } from '../../e2e/shared-suite.ts'
import type { Suite } from '../../harness.ts'
import { RawCalls } from './raw-calls.ts'

/** Far ends of the test that runs now in a `rawSuite`. */
export let calls: RawCalls

/** A suite of calls between the shared product and far ends whose bytes the test writes: `calls`, which is empty again after each test. */
export function rawSuite(title: string): Suite {
  const test = sharedSuite(title)
  test.before(() => {
    calls = new RawCalls(product)
  })
  test.afterEach(() => calls.leave())
  return test
}

/** A test with far ends of its own, so that it can run together with others. */
export const withRawCalls = (run: (calls: RawCalls) => Promise<void>) => async (): Promise<void> => {
  const own = new RawCalls(product)
  try {
    await run(own)
  } finally {
    await own.leave()
  }
}
