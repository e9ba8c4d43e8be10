import * as assert from 'uvu/assert'
import { buildJobs } from '../../../control/wiring/background.ts'
import { suite } from '../../harness.ts'
import { ask, silent } from '../app-harness.ts'
import { makeMailServer, plainText } from '../mail-server.ts'
import { APP_CONFIG, makeWholeApp, VAULT } from '../whole-app.ts'

const test = suite('control/organisation/invitation-routes')

const mail = await makeMailServer()
const config = { ...APP_CONFIG, smtpUrl: mail.url, publicUrl: 'https://voice.example.com' }
const world = await makeWholeApp({ config })
const { live, test: inTest, app, store, clock } = world
const jobs = buildJobs({ store, config, vault: VAULT, now: clock.now, log: silent })
test.after(async () => {
  await jobs.close()
  await world.close()
  await mail.close()
})

const pathOf = (url: string): string => new URL(url).pathname
const stateOf = async (userId: string) => {
  const { status, email_verified } = (await live(`GET /v1/users/${userId}`)).body
  return [status, email_verified]
}

test('an invitation mails a link; the page behind it makes the invited person an active member', async () => {
  const { body } = await live('POST /v1/invitations', { email: 'ann@example.com' })
  assert.is(body.delivery, 'queued')
  assert.match(body.accept_url, /^https:\/\/voice\.example\.com\/invitations\/invite_/)
  const stored = JSON.stringify([
    await store.db.selectFrom('jobs').selectAll().execute(),
    await store.db.selectFrom('invitations').selectAll().execute(),
  ])
  assert.not.match(stored, pathOf(body.accept_url).split('/').at(-1)!)
  await jobs.runDue()
  assert.equal(
    mail.mails.map(({ to }) => to),
    ['ann@example.com'],
  )
  const link = /https:\S+/.exec(plainText(mail.mails[0]!))![0]
  assert.is(link, body.accept_url)
  // A mail program that follows the link admits nobody.
  const page = await ask(app, `GET ${pathOf(link)}`)
  assert.equal([page.status, page.headers['referrer-policy']], [200, 'no-referrer'])
  assert.match(page.text, '<form method="post">')
  assert.match(
    page.text,
    /<b dir="auto">[^<]+<\/b> invites you/,
    'a name from the right turns around nothing beside it',
  )
  assert.not.match(page.text, /<(script|link|img|iframe)|@import|url\(/)
  assert.equal(await stateOf(body.user_id), ['invited', false])
  const accepted = await ask(app, `POST ${pathOf(link)}`)
  assert.is(accepted.status, 200)
  assert.match(accepted.text, 'You are a member of')
  assert.equal(await stateOf(body.user_id), ['active', true])
  // Once is enough, and a member who was shut out later does not come back by it.
  await live(`PATCH /v1/users/${body.user_id}`, { status: 'deactivated' })
  await ask(app, `POST ${pathOf(link)}`)
  assert.equal(await stateOf(body.user_id), ['deactivated', true])
})

test('an invitation works for 14 days, and only with its own token', async () => {
  const { body } = await live('POST /v1/invitations', { email: 'bob@example.com' })
  assert.is((await ask(app, 'POST /invitations/invite_none')).status, 404)
  clock.advance(14 * 24 * 60 * 60 * 1000)
  for (const method of ['GET', 'POST']) {
    const late = await ask(app, `${method} ${pathOf(body.accept_url)}`)
    assert.is(late.status, 410)
    assert.not.match(late.text, '<form')
  }
  assert.equal(await stateOf(body.user_id), ['invited', false])
})

test('test mode mails nobody, and the answer says so', async () => {
  mail.mails.length = 0
  const { body } = await inTest('POST /v1/invitations', { email: 'ann@example.com' })
  assert.is(body.delivery, 'suppressed')
  await jobs.runDue()
  assert.equal(
    mail.mails.filter(({ to }) => to === 'ann@example.com'),
    [],
  )
  assert.is((await ask(app, `POST ${pathOf(body.accept_url)}`)).status, 200)
  assert.is((await inTest(`GET /v1/users/${body.user_id}`)).body.status, 'active')
})

test('an invitation that was lost is sent again with a new link; the one before works no more', async () => {
  mail.mails.length = 0
  const first = (await live('POST /v1/invitations', { email: 'cid@example.com' })).body
  const again = await live(`POST /v1/invitations/${first.id}/resend`)
  assert.equal([again.status, again.body.id, again.body.user_id], [200, first.id, first.user_id])
  await jobs.runDue()
  // The first had not been sent yet.
  assert.equal(
    mail.mails.filter(({ to }) => to === 'cid@example.com').map(one => /https:\S+/.exec(plainText(one))![0]),
    [again.body.accept_url],
  )
  assert.is((await ask(app, `POST ${pathOf(first.accept_url)}`)).status, 404)
  assert.is((await ask(app, `POST ${pathOf(again.body.accept_url)}`)).status, 200)
  assert.equal(await stateOf(first.user_id), ['active', true])
  const late = await live(`POST /v1/invitations/${first.id}/resend`)
  assert.equal([late.status, late.body.error.details.reason], [409, 'not_invited'])
  assert.is((await live('POST /v1/invitations/inv_none/resend')).status, 404)
})

test('invitations are listed with what became of them, without their links', async () => {
  const world = await makeWholeApp()
  const invite = async (email: string) => (await world.live('POST /v1/invitations', { email })).body
  const [accepted, admitted, expired] = [
    await invite('a@example.com'),
    await invite('b@example.com'),
    await invite('c@example.com'),
  ]
  await ask(world.app, `POST ${pathOf(accepted.accept_url)}`)
  await world.live(`PATCH /v1/users/${admitted.user_id}`, { status: 'active' })
  world.clock.advance(14 * 24 * 60 * 60 * 1000)
  const [revoked, open] = [await invite('d@example.com'), await invite('e@example.com')]
  await world.live(`POST /v1/invitations/${revoked.id}/revoke`)
  const { body, text } = await world.live('GET /v1/invitations')
  assert.equal(
    body.data.map(({ id, status }: { id: string; status: string }) => [id, status]),
    [
      [open.id, 'open'],
      [revoked.id, 'revoked'],
      [expired.id, 'expired'],
      [admitted.id, 'accepted'],
      [accepted.id, 'accepted'],
    ],
  )
  assert.not.match(text, 'accept_url')
  assert.equal((await world.live(`GET /v1/invitations/${open.id}`)).body, body.data[0])
  assert.equal((await world.test('GET /v1/invitations')).body.data, [])
  assert.is((await world.test(`GET /v1/invitations/${open.id}`)).status, 404)
  await world.close()
})

test('a revoked invitation admits nobody and mails nobody; sent again it does', async () => {
  mail.mails.length = 0
  const { id, user_id, accept_url } = (await live('POST /v1/invitations', { email: 'dee@example.com' })).body
  const revoked = await live(`POST /v1/invitations/${id}/revoke`)
  assert.equal([revoked.status, revoked.body.status], [200, 'revoked'])
  await jobs.runDue()
  assert.equal(
    mail.mails.filter(({ to }) => to === 'dee@example.com'),
    [],
  )
  assert.is((await ask(app, `POST ${pathOf(accept_url)}`)).status, 404)
  assert.equal(await stateOf(user_id), ['deactivated', false])
  const twice = await live(`POST /v1/invitations/${id}/revoke`)
  assert.equal([twice.status, twice.body.error.details.reason], [409, 'not_invited'])
  const again = (await live(`POST /v1/invitations/${id}/resend`)).body
  assert.equal([again.status, ...(await stateOf(user_id))], ['open', 'invited', false])
  assert.is((await ask(app, `POST ${pathOf(again.accept_url)}`)).status, 200)
  assert.equal(
    [(await live(`POST /v1/invitations/${id}/revoke`)).status, ...(await stateOf(user_id))],
    [409, 'active', true],
  )
})

test('an address that the server refuses for good is not tried again', async () => {
  await live('POST /v1/invitations', { email: 'nobody@example.com' })
  await jobs.runDue()
  assert.is((await store.db.selectFrom('jobs').selectAll().execute()).length, 0)
  await live('POST /v1/invitations', { email: 'busy@example.com' })
  await jobs.runDue()
  const [waiting] = await store.db.selectFrom('jobs').selectAll().execute()
  assert.equal([waiting?.kind, waiting?.attempts], ['mail', 1])
})

test('a mail is not lost while the mail server refuses our password: it is sent once that is put right', async () => {
  await store.db.deleteFrom('jobs').execute()
  mail.mails.length = 0
  const as = (password: string) => {
    const smtpUrl = mail.url.replace('smtp://', `smtp://us:${password}@`)
    return buildJobs({ store, config: { ...config, smtpUrl }, vault: VAULT, now: clock.now, log: silent })
  }
  const [before, after] = [as('wrong'), as('right')]
  await live('POST /v1/invitations', { email: 'fay@example.com' })
  await before.runDue()
  clock.advance(60_000)
  await after.runDue()
  assert.equal(
    mail.mails.map(({ to }) => to),
    ['fay@example.com'],
  )
  for (const one of [before, after]) await one.close()
})

test('without a mail server the answer says so', async () => {
  const without = await makeWholeApp()
  assert.is((await without.live('POST /v1/invitations', { email: 'eve@example.com' })).body.delivery, 'not_configured')
  assert.is((await without.store.db.selectFrom('jobs').selectAll().execute()).length, 0)
  await without.close()
})

test.run()
