import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { openVault, vaultOf } from '../../../control/kernel/vault.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/vault')

const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
test.after(() => rmSync(folder, { recursive: true }))

test('what is sealed is opened again after a restart', () => {
  const sealed = openVault(folder).seal('whsec_secret', 'we_1')
  assert.not.match(Buffer.from(sealed, 'base64url').toString('latin1'), 'whsec')
  assert.is(openVault(folder).open(sealed, 'we_1'), 'whsec_secret')
})

test('the key file is readable by its owner alone, and nothing else is left behind', () => {
  assert.is(statSync(join(folder, 'vault.key')).mode & 0o777, 0o600)
  assert.equal(readdirSync(folder), ['vault.key'])
  assert.is(readFileSync(join(folder, 'vault.key')).length, 32)
})

test('what is sealed for one row cannot be opened in another, nor with another key, nor altered', () => {
  const vault = vaultOf(new Uint8Array(32))
  const sealed = vault.seal('text', 'we_1')
  assert.throws(() => vault.open(sealed, 'we_2'))
  assert.throws(() => vaultOf(new Uint8Array(32).fill(1)).open(sealed, 'we_1'))
  const altered = Buffer.from(sealed, 'base64url')
  altered[altered.length - 1] = altered[altered.length - 1]! ^ 1
  assert.throws(() => vault.open(altered.toString('base64url'), 'we_1'))
})

test('a key file of another length is refused, not replaced', () => {
  writeFileSync(join(folder, 'vault.key'), 'short')
  assert.throws(() => openVault(folder), /is not a key/)
  assert.is(readFileSync(join(folder, 'vault.key'), 'utf8'), 'short')
})

test.run()
