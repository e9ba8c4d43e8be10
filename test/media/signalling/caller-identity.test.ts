import * as assert from 'uvu/assert'
import { claimedIdentity } from '../../../media/signalling/caller-identity.ts'
import { suite } from '../../harness.ts'

const test = suite('media/signalling/caller-identity')

type Incoming = Parameters<typeof claimedIdentity>[0]

const nameOf = (displayName: string): string | null | undefined =>
  claimedIdentity({
    from: { uri: 'sip:ann@example.com', displayName },
    identity: { asserted: [], privacy: [], redirects: [] },
  } as unknown as Incoming)?.displayName

test('a name from outside is one line of at most a hundred characters', () => {
  assert.is(nameOf('Ann\r\n\0Lee'), 'Ann Lee')
  assert.is(nameOf('x'.repeat(300)), 'x'.repeat(100))
})

test('a name is never cut within a character', () => {
  assert.is(nameOf(`${'x'.repeat(99)}👍`), 'x'.repeat(99))
  assert.is(nameOf(`${'x'.repeat(98)}👍👍`), `${'x'.repeat(98)}👍`)
})

test.run()
