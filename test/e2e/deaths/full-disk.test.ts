import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { tone } from '../../../bench/voices.ts'
import { suite } from '../../harness.ts'
import { curtain, newRoom, seat } from '../scene.ts'

const test = suite('e2e/deaths/full-disk')
const SLOW = { timeoutMs: 90_000 }

const folder = mkdtempSync(join(tmpdir(), 'tandem-disk-'))
/** Why no file system can be mounted here; null: it is mounted. */
const missing = mount()
const filler = join(folder, 'filler')

function mount(): string | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', folder], { stdio: 'pipe' })
    return null
  } catch {
    return 'mounting is not allowed here'
  }
}

function fill(): void {
  for (const size of [65_536, 4096, 512]) {
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(size))
    } catch {}
  }
}

test.after(async () => {
  await curtain(undefined)
  // Lazily, since the product of a failed test may still use it.
  if (missing === null) execFileSync('umount', ['-l', folder])
  rmSync(folder, { recursive: true })
})

const NAME =
  'a full disk: no caller is taken and /readyz says so, by a caller or by itself; with room again it is ready'

async function fullDisk(): Promise<void> {
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const product = await Product.start({ dataDir })
  const storeIs = (isUp: boolean) =>
    product.until(`/readyz says that the store is ${isUp ? 'up' : 'away'}`, async () => {
      const answer = await fetch(`${product.baseUrl}/readyz`)
      const { status, store } = (await answer.json()) as { status: string; store: boolean }
      const expected = isUp ? [200, 'ready', true] : [503, 'not_ready', false]
      return JSON.stringify([answer.status, status, store]) === JSON.stringify(expected) ? true : null
    })
  const room = await newRoom(product, {}, { record: true })
  fill()
  await storeIs(false)
  rmSync(filler)
  await storeIs(true)

  const { call } = await seat(product, room, 'full-a', { voice: tone(440) })
  fill()
  const late = await (await Phone.open('full-b')).dial(room.number, product.sip)
  assert.is((await late.outcome).status, 503)
  await storeIs(false)
  // The call goes on, while the failure of its recording waits to be stored.
  await call.heard.next(3000)
  rmSync(filler)
  await storeIs(true)
  await product.until('its recording failed, which is logged', async () => product.output.match(/recording failed/))
  await call.hangup()
  await product.stop()
  assert.is(product.output.match(/recording failed/g)?.length, 1)
}

test(NAME, fullDisk, { ...SLOW, missing })

test.run()
