import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { TOOL, WAV_BASE64 } from '../conformance/objects.ts'
import { APP_CONFIG, makeWholeApp } from '../whole-app.ts'

const test = suite('control/http/limits')

const COLLECTIONS: Record<string, (n: number) => object> = {
  connections: () => ({ name: 'Trunk', kind: 'trunk', host: '192.0.2.50' }),
  phone_numbers: n => ({ number: `+1500555010${n}` }),
  inbound_routes: n => ({ match: { to: `10${n}` }, target: { type: 'echo' } }),
  queues: n => ({ name: `Queue ${n}` }),
  teams: n => ({ name: `Team ${n}` }),
  conference_rooms: n => ({ name: `Room ${n}` }),
  flows: n => ({ name: `Flow ${n}` }),
  assistants: n => ({ name: `Assistant ${n}` }),
  tools: n => ({ ...TOOL, name: `tool_${n}` }),
  secrets: n => ({ name: `SECRET_${n}`, value: 'open sesame' }),
  sites: n => ({ name: `Site ${n}`, origins: ['https://shop.example'] }),
  copilot_profiles: n => ({ name: `Profile ${n}` }),
  reports: n => ({ name: `Report ${n}`, kind: 'calls', recipients: ['ann@example.com'] }),
  audio_assets: () => ({ file: { content_base64: WAV_BASE64 } }),
  'kb/documents': n => ({ text: `Page ${n}` }),
}

for (const [name, bodyOf] of Object.entries(COLLECTIONS)) {
  test(`an organisation has at most its number of ${name} in each mode; another one has its own`, async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'tandem-limits-'))
    const app = await makeWholeApp({ config: { ...APP_CONFIG, dataDir, maxObjects: 2 } })
    const line = `POST /v1/${name}`
    const made = []
    // A number is released with a test key only.
    for (let n = 0; n < 3; n++) made.push(await app.test(line, bodyOf(n)))
    assert.equal(
      made.map(({ status }) => (status < 300 ? 'made' : status)),
      ['made', 'made', 403],
    )
    const { type, code } = made[2]!.body.error
    assert.equal([type, code], ['permission_error', 'object_limit'])
    if (name === 'audio_assets')
      assert.is((await readdir(join(dataDir, 'audio'))).length, 2, 'a refused file is not kept')
    assert.ok((await app.live(line, bodyOf(3))).status < 300)
    assert.ok((await app.test(line, bodyOf(4), { key: app.theirs.keys.test })).status < 300)
    assert.is((await app.test(`DELETE /v1/${name}/${made[0]!.body.id}`)).status, 200)
    assert.ok((await app.test(line, bodyOf(5))).status < 300)
    await app.close()
    await rm(dataDir, { recursive: true })
  })
}

test('keys count in the mode that they are for, users until they are deactivated, and a copy of a flow or copilot profile is one more', async () => {
  const app = await makeWholeApp({ config: { ...APP_CONFIG, maxObjects: 3 } })
  const codes = async (line: string, bodyOf: (n: number) => object): Promise<(string | undefined)[]> => {
    const answers = []
    for (let n = 0; n < 4; n++) answers.push(await app.live(line, bodyOf(n)))
    return answers.map(({ body }) => body.error?.code)
  }
  const full = [undefined, undefined, undefined, 'object_limit']
  assert.equal(await codes('POST /v1/invitations', n => ({ email: `a${n}@example.com` })), full)
  const { id, user_id: userId } = (await app.live('GET /v1/invitations')).body.data[0]
  assert.is((await app.live(`POST /v1/invitations/${id}/revoke`)).status, 200)
  assert.is((await app.live('POST /v1/invitations', { email: 'next@example.com' })).status, 201)
  for (const back of [
    await app.live(`PATCH /v1/users/${userId}`, { status: 'active' }),
    await app.live(`POST /v1/invitations/${id}/resend`),
  ]) {
    assert.is(back.body.error?.code, 'object_limit', 'whoever comes back takes a place, too')
  }
  // There is one of each mode already.
  const [, , third, fourth] = await codes('POST /v1/api_keys', () => ({ mode: 'test' }))
  assert.equal([third, fourth], ['object_limit', 'object_limit'])
  assert.is((await app.live('POST /v1/api_keys', {})).status, 201)
  const { body: flow } = await app.live('POST /v1/flows', { name: 'Flow' })
  assert.equal(await codes(`POST /v1/flows/${flow.id}/duplicate`, () => ({})), [
    undefined,
    undefined,
    'object_limit',
    'object_limit',
  ])
  const { body: profile } = await app.live('POST /v1/copilot_profiles', { name: 'Profile' })
  assert.is((await codes(`POST /v1/copilot_profiles/${profile.id}/duplicate`, () => ({})))[2], 'object_limit')
  const { body: assistant } = await app.live('POST /v1/assistants', { name: 'Assistant' })
  assert.equal(await codes('POST /v1/campaigns', n => ({ name: `Campaign ${n}`, assistant_id: assistant.id })), full)
  await app.close()
})

test('an organisation has at most its number of clients, and each client of keys, whoever makes them', async () => {
  const app = await makeWholeApp({ config: { ...APP_CONFIG, maxObjects: 2 } })
  const codes = async (line: string): Promise<(string | undefined)[]> => {
    const answers = []
    for (let n = 0; n < 3; n++)
      answers.push(await app.live(line, line.endsWith('organisations') ? { name: 'Client' } : {}))
    return answers.map(({ body }) => body.error?.code)
  }
  const full = [undefined, undefined, 'object_limit']
  assert.equal(await codes('POST /v1/partner/organisations'), full)
  const { id } = (await app.live('GET /v1/partner/organisations')).body.data[0]
  assert.equal(await codes(`POST /v1/partner/organisations/${id}/api_keys`), full)
  await app.close()
})

test.run()
