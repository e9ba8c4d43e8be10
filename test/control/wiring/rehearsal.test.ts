import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { readConfig } from '../../../control/kernel/config/read.ts'
import { openVault } from '../../../control/kernel/vault.ts'
import { rehearse } from '../../../control/wiring/rehearsal.ts'
import { suite } from '../../harness.ts'

const test = suite('control/wiring/rehearsal')

test('before callers come, calls of which nobody hears are answered and end, and each of their webhooks is made', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const read = readConfig({ TANDEM_DATA_DIR: dataDir })
  assert.ok('config' in read)
  const parts = { config: read.config, vault: openVault(dataDir), now: () => new Date() }
  const ended: string[] = []
  const told: string[] = []
  await rehearse(parts, 9, async ({ body = '{}' }) => {
    const { type, data } = JSON.parse(body)
    told.push(type)
    if (type === 'call.ended') ended.push(data.object.ended_reason)
    return { status: 204, body: '', retryAfter: undefined, isFromPublic: true }
  })
  assert.equal(ended, Array(9).fill('caller_hangup'))
  assert.is(told.filter(type => type === 'call.answered').length, 9)
  rmSync(dataDir, { recursive: true })
})

test.run()
