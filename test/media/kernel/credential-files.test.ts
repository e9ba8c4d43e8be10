import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { CredentialFiles } from '../../../media/kernel/credential-files.ts'
import { tlsCredential } from '../../../media/kernel/tls-files.ts'
import { missingPrograms, suite } from '../../harness.ts'

const test = suite('media/kernel/credential-files')
const missing = missingPrograms('openssl')
const dir = mkdtempSync(join(tmpdir(), 'tandem-credentials-'))
const [certFile, keyFile] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]

test.after(() => rmSync(dir, { recursive: true, force: true }))

/** A certificate with its key, as PEM. */
function made(days: number): [cert: string, key: string] {
  const how = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=a']
  const text = execFileSync('openssl', [...how, '-days', String(days), '-keyout', '-'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const cut = text.indexOf('-----BEGIN CERTIFICATE')
  return [text.subarray(cut).toString(), text.subarray(0, cut).toString()]
}

const write = ([cert, key]: readonly [string, string]): void => {
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
}

function watched(now = Date.now) {
  const said: string[] = []
  const used: string[] = []
  const log = {
    info: (_: object, message: string) => void said.push(message),
    error: (_: object, message: string) => void said.push(message),
  }
  const files = new CredentialFiles({ log, now })
  const first = files.watch({
    name: 'sip_tls_certificate',
    files: [certFile, keyFile],
    read: tlsCredential,
    use: ({ cert }) => void used.push(cert.toString()),
  })
  return { files, first, used, said }
}

const fileTest = (sentence: string, run: () => unknown): void => {
  if (missing === null) test(sentence, run)
  else test.skip(sentence, missing)
}

fileTest('a certificate that has expired, or does so later, is said to be outdated', async () => {
  write(made(2))
  let now = Date.now()
  const { files, said } = watched(() => now)
  assert.is(files.gauges.credential_files_outdated, 0)
  now += 3 * 86_400_000
  assert.is(files.gauges.credential_files_outdated, 1)
  const late = watched(() => now)
  assert.equal(late.said, ['a certificate has expired: far ends refuse it until it is replaced'])
  assert.is(late.files.gauges.credential_files_outdated, 1)
  write(made(9))
  await late.files.look()
  assert.is(late.files.gauges.credential_files_outdated, 0)
  assert.equal(said, [])
})

fileTest('files that change are used from the next look on, and those that do not are left alone', async () => {
  const [old, next] = [made(2), made(3)]
  write(old)
  const { files, first, used } = watched()
  assert.is(first.cert.toString(), old[0])
  const before = files.gauges.sip_tls_certificate_expiry_timestamp_seconds!
  await files.look()
  assert.equal(used, [])
  write(next)
  await files.look()
  await files.look()
  assert.equal(used, [next[0]])
  assert.equal(files.counters, { credentialReloads: 1, credentialReloadFailures: 0 })
  const days = (files.gauges.sip_tls_certificate_expiry_timestamp_seconds! - before) / 86_400
  assert.ok(Math.abs(days - 1) < 0.01, `${days}`)
})

fileTest('what cannot be used leaves the version before in use, and is told of once', async () => {
  const [old, next] = [made(2), made(3)]
  write(old)
  const { files, used, said } = watched()
  const outdated = async (): Promise<number | undefined> => {
    await files.look()
    return files.gauges.credential_files_outdated
  }
  for (const bad of [
    ['rubbish', old[1]],
    [next[0], old[1]],
  ] as const) {
    write(bad)
    assert.is(await outdated(), 1)
    assert.is(await outdated(), 1)
  }
  rmSync(keyFile)
  assert.is(await outdated(), 1)
  assert.is(said.length, 3)
  assert.equal(used, [])
  write(old)
  assert.is(await outdated(), 0, 'those that are in use are back')
  write(next)
  assert.is(await outdated(), 0)
  assert.equal(used, [next[0]])
})

fileTest('a certificate that has expired does not take the place of one that has not', async () => {
  write(made(5))
  const { files, used } = watched(() => Date.now() + 3 * 86_400_000)
  write(made(2))
  await files.look()
  assert.equal([used, files.gauges.credential_files_outdated], [[], 1])
})

fileTest(
  'files that cannot be used at the start leave something else in use, where there is something, until they can',
  async () => {
    const good = made(2)
    for (const bad of [['rubbish', good[1]] as const, null]) {
      if (bad === null) rmSync(keyFile)
      else write([...bad])
      const said: string[] = []
      const used: string[] = []
      const log = { info: () => {}, error: (_: object, message: string) => void said.push(message) }
      const files = new CredentialFiles({ log, now: Date.now })
      const first = files.watch({
        name: 'sip_tls_certificate',
        files: [certFile, keyFile],
        read: tlsCredential,
        use: ({ cert }) => void used.push(cert.toString()),
        instead: { cert: Buffer.of(), key: Buffer.of(), expiresAt: 0 },
      })
      assert.is(first.cert.length, 0)
      await files.look()
      assert.equal(files.gauges, { credential_files_outdated: 1 })
      assert.equal(said, ['certificates or keys cannot be used: nothing that needs them works'])
      write(good)
      await files.look()
      assert.equal(used, [good[0]])
      assert.is(files.gauges.credential_files_outdated, 0)
    }
  },
)

fileTest('files that cannot be used at the start throw', () => {
  write(['rubbish', 'rubbish'])
  assert.throws(() => watched())
})

test.run()
