import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { databaseFile } from '../../../control/kernel/data-dir.ts'
import { VERSION } from '../../../control/kernel/package.ts'
import { sha256 } from '../../../control/kernel/secrets.ts'
import { openStore } from '../../../control/kernel/store/store.ts'
import { suite } from '../../harness.ts'

const test = suite('control/wiring/cli')

const cli = fileURLToPath(new URL('../../../dist/control/wiring/cli.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
test.after(() => rmSync(folder, { recursive: true }))

function tandem(args: string[], env: Record<string, string> = {}) {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TANDEM_')))
  const result = spawnSync(process.execPath, [cli, ...args], {
    env: { ...inherited, TANDEM_DATA_DIR: folder, ...env },
    encoding: 'utf8',
  })
  return { code: result.status, out: result.stdout, err: result.stderr }
}

test('--help lists commands and variables, --version the version', () => {
  const help = tandem(['--help'])
  assert.is(help.code, 0)
  assert.match(help.out, 'tandem org add NAME')
  assert.match(help.out, 'TANDEM_SIP_PORT')
  for (const one of ['start', 'org', 'key']) assert.is(tandem([one, '--help']).out, help.out)
  assert.is(tandem(['--version']).out, `${VERSION}\n`)
})

test('a variable that looks like a misspelt setting is told; those of clients, tests and Kubernetes are not', () => {
  const others = {
    TANDEM_API_URL: 'x',
    TANDEM_CONFIG: 'x',
    TANDEM_PORT: 'x',
    TANDEM_SERVICE_PORT_HTTP: 'x',
    TANDEM_TEST_X: 'x',
  }
  const env = { ...others, TANDEM_HTPP_PORT: '80', TANDEM_DRAIN_SECOND: '3', TANDEM_LOG_LEVEL: 'loud' }
  const { code, err } = tandem(['start'], env)
  assert.is(code, 1)
  assert.equal(err.trimEnd().split('\n').slice(0, -1).sort(), [
    'TANDEM_DRAIN_SECOND is not a setting and has no effect: did you mean TANDEM_DRAIN_SECONDS?',
    'TANDEM_HTPP_PORT is not a setting and has no effect: did you mean TANDEM_HTTP_PORT?',
  ])
  assert.match(err, /^TANDEM_LOG_LEVEL=loud is not valid/m)
})

test('an unknown command gives one line and exit code 1', () => {
  for (const args of [
    ['fly'],
    ['org'],
    ['org', 'add'],
    ['org', 'add', 'two', 'words'],
    ['org', 'list', 'x'],
    ['key'],
    ['key', 'new', 'a', 'b'],
    ['key', 'new', '--root'],
    ['start', 'now'],
  ]) {
    const { code, out, err } = tandem(args)
    assert.is(code, 1)
    assert.is(out, '')
    assert.is(err.trimEnd().split('\n').length, 1, err)
  }
})

test('a bad value gives one line and exit code 1', () => {
  const { code, out, err } = tandem(['start'], { TANDEM_HTTP_PORT: 'http' })
  assert.is(code, 1)
  assert.is(out, '')
  assert.is(err, 'TANDEM_HTTP_PORT=http is not valid: set a whole number from 0 to 65535.\n')
})

test('a data directory that cannot be written gives one line and exit code 1', () => {
  const { code, err } = tandem(['start'], { TANDEM_DATA_DIR: '/proc/tandem' })
  assert.is(code, 1)
  assert.is(err.trimEnd().split('\n').length, 1, err)
  assert.match(err, '/proc/tandem')
})

test('org add prints the keys of a new organisation, also while the database is in use', async () => {
  const store = await openStore(databaseFile(folder))
  const { code, out, err } = tandem(['org', 'add', 'Acme Inc'])
  assert.is(code, 0, err)
  const [, live] = /^live (sk_live_\S+)$/m.exec(out) ?? []
  const [, testKey] = /^test (sk_test_\S+)$/m.exec(out) ?? []
  const rows = await store.db.selectFrom('api_keys').select(['hash', 'livemode']).orderBy('livemode').execute()
  assert.equal(rows, [
    { hash: sha256(testKey!), livemode: 0 },
    { hash: sha256(live!), livemode: 1 },
  ])
  await store.close()
})

test(
  'org list names the organisations; key new makes a key of one of them, for who has lost all others',
  async () => {
    const second = /\((org_\w+)\)/.exec(tandem(['org', 'add', 'Beta']).out)?.[1]
    const list = tandem(['org', 'list'])
    assert.is(list.code, 0, list.err)
    assert.match(list.out, /^org_\w+ {2}\d{4}-\d\d-\d\d {2}Acme Inc\norg_\w+ {2}\d{4}-\d\d-\d\d {2}Beta\n$/)
    const unnamed = tandem(['key', 'new'])
    assert.equal([unnamed.code, unnamed.out], [1, ''], 'there are two')
    assert.match(unnamed.err, 'tandem org list')
    assert.match(tandem(['key', 'new', 'Gamma']).err, 'no organisation "Gamma"')
    const made = tandem(['key', 'new', 'Beta', '--test', '--name', 'Found again'])
    assert.is(made.code, 0, made.err)
    const secret = /^test (sk_test_\S+)$/m.exec(made.out)?.[1]
    const live = /^live (sk_live_\S+)$/m.exec(tandem(['key', 'new', second!]).out)?.[1]
    const store = await openStore(databaseFile(folder))
    const keys = store.db.selectFrom('api_keys').select(['name', 'organisation_id', 'livemode', 'scopes'])
    for (const [key, name, livemode] of [
      [secret, 'Found again', 0],
      [live, 'Made by tandem key new', 1],
    ] as const) {
      const row = await keys.where('hash', '=', sha256(key!)).executeTakeFirst()
      assert.equal({ ...row }, { name, organisation_id: second, livemode, scopes: null })
    }
    await store.close()
  },
  { timeoutMs: 60_000 },
)

test.run()
