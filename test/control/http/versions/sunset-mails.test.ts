import * as assert from 'uvu/assert'
import { dueNotice, queueSunsetMails } from '../../../../control/http/versions/sunset-mails.ts'
import { deprecated } from '../../../../control/kernel/versions/version.ts'
import { buildJobs } from '../../../../control/wiring/background.ts'
import { suite } from '../../../harness.ts'
import { silent } from '../../app-harness.ts'
import { makeMailServer, plainText } from '../../mail-server.ts'
import { APP_CONFIG, addMember, makeWholeApp, VAULT } from '../../whole-app.ts'

const test = suite('control/http/versions/sunset-mails')

const OLD = '2026-05-01'

const mail = await makeMailServer()
const config = { ...APP_CONFIG, smtpUrl: mail.url }
const world = await makeWholeApp({ config })
const { live, store, clock } = world
const jobs = buildJobs({ store, config, vault: VAULT, now: clock.now, log: silent })
test.after(async () => {
  await jobs.close()
  await world.close()
  await mail.close()
})

const deps = { store, vault: VAULT, now: clock.now, log: silent, publicUrl: 'https://voice.example.com' }

/** What is mailed when control looks at this time: the recipients. */
async function mailedAt(time: string): Promise<string[]> {
  clock.advance(Date.parse(time) - clock.now().getTime())
  mail.mails.length = 0
  await queueSunsetMails(deps)
  // A second process, and a restart.
  await Promise.all([queueSunsetMails(deps), queueSunsetMails(deps)])
  await jobs.runDue()
  return mail.mails.map(({ to }) => to).sort()
}

test('owners of keys still using the version are e-mailed six months, three months and one month before sunset', async () => {
  await addMember(live, 'ann@example.com', { role: 'owner' })
  await addMember(live, 'bob@example.com', { role: 'admin' })
  await addMember(live, 'eve@example.com', { role: 'agent' })
  await live('POST /v1/invitations', { email: 'not-yet@example.com', role: 'owner' })
  mail.mails.length = 0
  await jobs.runDue()
  assert.equal(await mailedAt('2027-06-02T00:00:00Z'), [], 'nobody is pinned to it')
  const key = (await live('POST /v1/api_keys', { name: 'Shop' })).body
  await store.db.updateTable('api_keys').set({ api_version: OLD }).where('id', '=', key.id).execute()
  const both = ['ann@example.com', 'bob@example.com']
  assert.equal(await mailedAt('2027-06-03T00:00:00Z'), both)
  const text = plainText(mail.mails[0]!)
  assert.match(mail.mails[0]!.text, `Subject: API version ${OLD} goes on 2027-12-01`)
  for (const part of [
    'Ours still uses',
    '6 months',
    `API key Shop ${key.hint}`,
    'https://voice.example.com/changelog',
  ]) {
    assert.match(text, part)
  }
  assert.equal(await mailedAt('2027-08-31T23:59:59Z'), [])
  assert.equal(await mailedAt('2027-09-01T00:00:00Z'), both)
  assert.equal(await mailedAt('2027-10-31T00:00:00Z'), [])
  assert.equal(await mailedAt('2027-11-01T00:00:00Z'), both)
  assert.equal(await mailedAt('2027-11-30T00:00:00Z'), [])
})

test('an owner who came later is told once, too; who has left the version is told nothing', async () => {
  await addMember(live, 'zoe@example.com', { role: 'owner' })
  mail.mails.length = 0
  await jobs.runDue()
  assert.equal(await mailedAt('2027-11-30T01:00:00Z'), ['zoe@example.com'])
  await store.db.updateTable('api_keys').set({ api_version: '2026-11-01' }).execute()
  await addMember(live, 'tom@example.com', { role: 'owner' })
  await jobs.runDue()
  assert.equal(await mailedAt('2027-11-30T02:00:00Z'), [])
})

let pinned: string

test('an organisation with a webhook endpoint pinned to the version is told', async () => {
  const made = await live('POST /v1/webhook_endpoints', { url: 'https://93.184.216.34/hook', api_version: OLD })
  assert.is(made.status, 201)
  pinned = made.body.id
  assert.equal(await mailedAt('2027-11-30T03:00:00Z'), ['tom@example.com'])
  assert.match(plainText(mail.mails[0]!), 'webhook endpoint https://93.184.216.34/hook')
})

test('a key that is pinned to another version and chooses this one by its header is still using it', async () => {
  await live(`PATCH /v1/webhook_endpoints/${pinned}`, { api_version: '2026-11-01' })
  await addMember(live, 'kim@example.com', { role: 'owner' })
  await jobs.runDue()
  const key = (await live('POST /v1/api_keys', { name: 'Till' })).body
  const asked = { key: key.secret, headers: { 'service-version': OLD } }
  assert.is((await live('GET /v1/teams', undefined, asked)).status, 200)
  assert.is((await live('GET /v1/request_logs')).status, 200, 'what was logged is written')
  assert.equal(await mailedAt('2027-11-30T04:00:00Z'), ['kim@example.com'])
  assert.match(plainText(mail.mails[0]!), `API key Till ${key.hint}`)
  await addMember(live, 'lee@example.com', { role: 'owner' })
  await jobs.runDue()
  assert.equal(await mailedAt('2027-11-30T08:00:00Z'), [], 'no longer')
})

test('of notices whose time passed while nobody looked only the last is sent; after the sunset none', () => {
  const at = (time: string) => dueNotice('2027-12-01', new Date(time))
  assert.is(at('2027-05-31T23:59:59Z'), null)
  assert.is(at('2027-06-01T00:00:00Z'), 6)
  assert.is(at('2027-09-01T00:00:00Z'), 3)
  assert.is(at('2027-11-30T23:59:59Z'), 1)
  assert.is(at('2027-12-01T00:00:00Z'), null)
})

test('the deprecation of an operation alone mails nobody', async () => {
  const versions = [
    { date: '2027-01-01', changes: [deprecated('x', { sunset: '2028-01-01', operations: ['listCalls'] })] },
  ]
  assert.is(await queueSunsetMails({ ...deps, versions }), 0)
})

test.run()
