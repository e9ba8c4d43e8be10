import * as assert from 'uvu/assert'
import { forTenant, type Tenant } from '../../../control/kernel/tenancy.ts'
import { passageSearch } from '../../../control/knowledge/passage-search.ts'
import { suite } from '../../harness.ts'
import { makeWorld } from '../app-harness.ts'

const test = suite('control/knowledge/passage-search')

async function makeSearch() {
  const { store, ours, theirs } = await makeWorld()
  const search = passageSearch(store.engine)
  const live = { organisationId: ours.organisationId, livemode: true }
  const tenants = [
    live,
    { ...live, livemode: false },
    { organisationId: theirs.organisationId, livemode: true },
  ] as const
  const add = (tenant: Tenant, document_id: string, passage: { id: string; text: string }) =>
    store.transaction(async trx => {
      await forTenant(trx, tenant).insert('kb_passages', { ...passage, document_id, position: 0 })
      await search.add(trx, tenant, document_id, [passage])
    })
  for (const [i, tenant] of tenants.entries()) {
    await add(tenant, `kbd_${i}`, { id: `kbp_${i}`, text: 'opening hours' })
  }
  const find = async (tenant: (typeof tenants)[number], question: string, documentIds: string[] = []) =>
    (await search.find(store.db, tenant, question, { documentIds, limit: 10 })).map(({ passageId }) => passageId)
  return { store, search, tenants, add, find }
}

test('the index gives each tenant its own passages only', async () => {
  const { store, tenants, find } = await makeSearch()
  for (const [i, tenant] of tenants.entries()) {
    assert.equal(await find(tenant, 'hours'), [`kbp_${i}`])
    assert.equal(await find(tenant, 'hours', ['kbd_0']), i === 0 ? ['kbp_0'] : [])
  }
  await store.close()
})

test("a removed document's passages leave the index, and nobody else's", async () => {
  const { store, search, tenants, find } = await makeSearch()
  const [live, inTest, theirs] = tenants
  await store.transaction(trx => search.remove(trx, theirs, 'kbd_0', 9))
  assert.equal(await find(live, 'hours'), ['kbp_0'], "another tenant's ID removes nothing")
  await store.transaction(trx => search.remove(trx, live, 'kbd_0', 9))
  assert.equal(await find(live, 'hours'), [])
  assert.equal([await find(inTest, 'hours'), await find(theirs, 'hours')], [['kbp_1'], ['kbp_2']])
  await store.close()
})

test('a word in any form of its stem, case and accents is found', async () => {
  const { store, tenants, add, find } = await makeSearch()
  const passage = { id: 'kbp_9', text: 'Caf\u00e9s refunded; \u05e9\u05e2\u05d5\u05ea' }
  await add(tenants[0], 'kbd_9', passage)
  for (const word of ['cafe', 'REFUNDS', '\u05e9\u05e2\u05d5\u05ea']) {
    assert.equal(await find(tenants[0], word), ['kbp_9'], word)
  }
  await store.close()
})

test('letters in one piece and letters with marks of their own are the same word, on both databases', async () => {
  const { store, tenants, add, find } = await makeSearch()
  for (const [i, word] of ['Юрий', 'Сергій', '김민수', 'ガス'].entries()) {
    await add(tenants[0], `kbd_c${i}`, { id: `kbp_c${i}`, text: `Ask ${word.normalize('NFC')}.` })
    await add(tenants[0], `kbd_d${i}`, { id: `kbp_d${i}`, text: `Ask ${word.normalize('NFD')}.` })
    for (const form of ['NFC', 'NFD']) {
      const found = await find(tenants[0], word.toUpperCase().normalize(form))
      assert.equal(found.sort(), [`kbp_c${i}`, `kbp_d${i}`], `${word} in ${form}`)
    }
  }
  await store.close()
})

test.run()
