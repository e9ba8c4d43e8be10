// Own process: it mounts a file system.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { freePort } from '../../bench/free-port.ts'
import { missingPrograms, suite } from '../harness.ts'

const test = suite('e2e/refused-starts')

const folder = mkdtempSync(join(tmpdir(), 'tandem-refused-'))
const disk = mkdtempSync(join(tmpdir(), 'tandem-disk-'))
/** Why no file system can be mounted here; null: it is mounted. */
const missing = mount()

function mount(): string | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { stdio: 'pipe' })
    return null
  } catch {
    return 'mounting is not allowed here'
  }
}

test.after(() => {
  if (missing === null) execFileSync('umount', ['-l', disk])
  for (const path of [folder, disk]) rmSync(path, { recursive: true })
})

const CLI = fileURLToPath(new URL('../../dist/control/wiring/cli.js', import.meta.url))

/** Starts the product, which must end by itself with 1. @returns the lines that it writes for people */
async function refusedBy(env: NodeJS.ProcessEnv, by: readonly string[] = []): Promise<string[]> {
  const port = async () => String(await freePort())
  const ports = { TANDEM_HTTP_PORT: await port(), TANDEM_SIP_PORT: await port(), TANDEM_WS_PORT: await port() }
  const others = { TANDEM_DATA_DIR: folder, TANDEM_SPEECH_PRELOAD: 'no', TANDEM_WARM_UP: 'no' }
  const [program = '', ...words] = [...by, process.execPath, CLI, 'start']
  const child = spawn(program, words, { env: { PATH: process.env.PATH, ...ports, ...others, ...env } })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', chunk => (text += chunk))
  const [code] = await once(child, 'close')
  assert.is(code, 1, text)
  return text.split('\n').filter(line => line !== '' && !line.startsWith('{'))
}

const FIRST_PORT = '/proc/sys/net/ipv4/ip_unprivileged_port_start'

/** Why no port is refused here; null: low ones are, to others than root. */
function mayAnybodyListen(): string | null {
  const first = existsSync(FIRST_PORT) ? Number(readFileSync(FIRST_PORT, 'utf8')) : 0
  return first > 506 && process.getuid?.() === 0 ? null : 'any port may be used, or this is not root'
}
const fill = (leftBytes: number): void => {
  for (const size of [65_536, 4096, 512, 1]) {
    try {
      for (;;) appendFileSync(join(disk, 'filler'), Buffer.alloc(size))
    } catch {}
  }
  execFileSync('truncate', ['-s', `-${leftBytes}`, join(disk, 'filler')])
}

test(
  'a data directory on a full disk is refused in one line that says so',
  async () => {
    fill(0)
    const full = await refusedBy({ TANDEM_DATA_DIR: disk })
    assert.is(full.length, 1, full.join('\n'))
    assert.match(full[0]!, /^Cannot write to the data directory .* free some space, or set TANDEM_DATA_DIR/)
    fill(400_000)
    const nearly = await refusedBy({ TANDEM_DATA_DIR: disk })
    assert.is(nearly.length, 1, nearly.join('\n'))
    assert.match(nearly[0]!, /^Cannot open the database .*tandem\.db \(database or disk is full\): free some space/)
  },
  { missing, timeoutMs: 60_000 },
)

test(
  'too few open files are refused in one line that says which limit to raise',
  async () => {
    const lines = await refusedBy({ TANDEM_MAX_CALLS: '500' }, ['prlimit', '--nofile=40:40'])
    assert.equal(lines, ['Only 40 files may be open: raise the limit (ulimit -n, LimitNOFILE) to 1100'])
  },
  { missing: missingPrograms('prlimit'), timeoutMs: 60_000 },
)

test(
  'a port that may not be used is refused in one line that names its setting',
  async () => {
    const env = { TANDEM_SIP_PORT: '506' }
    execFileSync('chown', ['-R', '65534', folder])
    const lines = await refusedBy(env, ['setpriv', '--reuid', '65534', '--clear-groups'])
    assert.equal(lines, [
      'Cannot listen for SIP on 127.0.0.1, port 506 (EACCES): set TANDEM_SIP_PORT to a port that you may use',
    ])
  },
  { missing: mayAnybodyListen() ?? missingPrograms('setpriv'), timeoutMs: 60_000 },
)

test.run()
