import * as assert from 'uvu/assert'
import { insertContacts, newContactRow } from '../../../control/campaigns/contacts.ts'
import { putOnList } from '../../../control/do-not-call/list.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp } from '../whole-app.ts'

const test = suite('control/kernel/paged')

const ROWS = 10_000
/** What both exports read at once. */
const PAGE = 500

test('while a long list is sent everybody else has their turn after each page', async () => {
  const app = await makeWholeApp()
  const tenant = { organisationId: app.ours.organisationId, livemode: true }
  const { id: assistant_id } = (await app.live('POST /v1/assistants', { name: 'A' })).body
  const { id: campaignId } = (await app.live('POST /v1/campaigns', { name: 'C', assistant_id })).body
  const at = '2026-11-21T09:00:00.000Z'
  for (let from = 0; from < ROWS; from += PAGE) {
    const phones = Array.from({ length: PAGE }, (_, i) => `+97253${1_000_000 + from + i}`)
    const listings = phones.map(phone => ({ phone, reason: '', expires_at: null }))
    const contacts = phones.map(phone => newContactRow(tenant, campaignId, { contact: { phone }, phone, at }))
    await app.store.transaction(async trx => {
      await putOnList(trx, tenant, listings, { at, source: 'api' })
      await insertContacts(trx, contacts)
    })
  }
  for (const path of ['do_not_call/export', `campaigns/${campaignId}/results`]) {
    let turns = 0
    let isOver = false
    const turn = (): void => {
      turns++
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    const { text } = await app.live(`GET /v1/${path}`)
    isOver = true
    assert.is(text.match(/\+97253\d{7}/g)?.length, ROWS)
    assert.ok(turns >= ROWS / PAGE, `${turns} turns for ${path}`)
  }
  await app.close()
})

test.run()
