import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { Product } from '../../../bench/product.ts'
import { noise } from '../../fuzz/health.ts'
import { missingPrograms, suite } from '../../harness.ts'
import { curtain, newRoom, seat } from '../scene.ts'
import { killAndWait } from '../witness.ts'

const test = suite('e2e/deaths/unread-log')
const SLOW = { timeoutMs: 60_000 }
const [CTRL_S, CTRL_Q] = ['\u0013', '\u0011']

test.after(() => curtain(undefined))

/** Starts the product by a shell command, in which it is `"$@"`. */
const startedBy = (command: string, env: Record<string, string> = {}): Promise<Product> =>
  Product.start({ env, prefix: ['/bin/sh', '-c', command, 'sh'] })

/** Calls are taken, and each process that dies is started again. Control says something of each. */
async function assertServes(product: Product): Promise<void> {
  const room = await newRoom(product)
  const { call } = await seat(product, room, 'quiet', { voice: noise(1) })
  await killAndWait(product, 'control')
  await product.ready()
  await call.heard.next(200)
  await call.hangup()
}

test(
  'a log that nobody reads holds up no call, and what was said can be read later',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tandem-log-'))
    const path = join(folder, 'log')
    execFileSync('mkfifo', [path])
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    fillUp(pipe)
    const product = await startedBy('exec "$@" 2>"$LOG"', { LOG: path })
    await assertServes(product)
    let read = ''
    await product.until('its log is read', async () => {
      read += readUp(pipe)
      return ['listening', 'connected to media', 'died; it is started again'].every(said => read.includes(said)) || null
    })
    fillUp(pipe)
    assert.is(await product.stop(), 0, 'it ends as well as ever')
    closeSync(pipe)
    rmSync(folder, { recursive: true })
  },
  SLOW,
)

test(
  'a terminal whose output is held up (Ctrl-S) holds up no call',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tandem-terminal-'))
    const keys = join(folder, 'keys')
    execFileSync('mkfifo', [keys])
    const keyboard = openSync(keys, constants.O_RDWR | constants.O_NONBLOCK)
    const product = await startedBy('exec script -qefc "$*" /dev/null <"$KEYS"', { KEYS: keys })
    const room = await newRoom(product)
    writeSync(keyboard, CTRL_S)
    for (let i = 0; i < 20; i++) await (await seat(product, room, `caller${i}`, { voice: noise(1) })).call.hangup()
    writeSync(keyboard, CTRL_Q)
    await product.until('what was said meanwhile', async () => product.output.includes('call ended') || null)
    assert.is(await product.stop(), 0)
    closeSync(keyboard)
    rmSync(folder, { recursive: true })
  },
  { ...SLOW, missing: missingPrograms('script') },
)

test(
  'a log on a full disk ends no call',
  async () => {
    const product = await startedBy('exec "$@" 2>/dev/full')
    await assertServes(product)
    assert.is(await product.stop(), 0)
  },
  SLOW,
)

test(
  'who has started it may close its standard output and its log',
  async () => {
    // What Product waits for, since the product itself can say nothing.
    const product = await startedBy('echo; { { "$@" 2>&1 3>&-; echo "code $?" >&3; } | true; } 3>&1')
    await assertServes(product)
    await product.stop()
    assert.match(product.output, /^code 0$/m)
  },
  SLOW,
)

/** Writes until the pipe is full. */
function fillUp(pipe: number): void {
  for (const size of [4096, 1]) {
    try {
      for (;;) writeSync(pipe, '\n'.repeat(size))
    } catch {}
  }
}

/** Reads until the pipe is empty. */
function readUp(pipe: number): string {
  const bytes = Buffer.alloc(65_536)
  let text = ''
  try {
    for (;;) text += bytes.subarray(0, readSync(pipe, bytes)).toString()
  } catch {}
  return text
}

test.run()
