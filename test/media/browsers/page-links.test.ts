import * as assert from 'uvu/assert'
import { PageLinks } from '../../../media/browsers/page-links.ts'
import { suite } from '../../harness.ts'

const test = suite('media/browsers/page-links')
const ASKED = { browserId: 'brw_1', legId: 'part_1' }

test('a page is asked for by nodes with the same secret alone, and within half a minute', () => {
  let now = 1_000_000
  const linksOf = (secret: string) => new PageLinks({ secret, now: () => now })
  const [ours, theirs, others] = [linksOf('one'), linksOf('one'), linksOf('another')]
  const token = theirs.tokenFor(ASKED)
  assert.equal(ours.asked(token), ASKED)
  assert.is(others.asked(token), null)
  const [said, signature] = token.split('.') as [string, string]
  const forged = Buffer.from(Buffer.from(said, 'base64url').toString().replace('brw_1', 'brw_2')).toString('base64url')
  for (const wrong of ['', '.', said, `${forged}.${signature}`, `${said}.${signature}x`])
    assert.is(ours.asked(wrong), null, wrong)
  now += 30_001
  assert.is(ours.asked(token), null)
})

test('a node that is not there has no page, and says so by itself', async () => {
  const links = new PageLinks({ secret: 'one', now: Date.now })
  assert.is(await links.open('127.0.0.1:1', ASKED), 'gone')
})

test.run()
