import * as assert from 'uvu/assert'
import { passageFinder } from '../../../../control/assistants/assistant/passage-finder.ts'
import { newId } from '../../../../control/kernel/ids.ts'
import { addDocument } from '../../../../control/knowledge/add-document.ts'
import { passageSearch } from '../../../../control/knowledge/passage-search.ts'
import { suite } from '../../../harness.ts'
import { makeWorld } from '../../app-harness.ts'

const test = suite('control/assistants/assistant/passage-finder')

/** A tenant with one document of these passages. */
async function knowing(passages: string[]) {
  const { store, ours, theirs } = await makeWorld()
  const search = passageSearch(store.engine)
  const tenant = { organisationId: ours.organisationId, livemode: true }
  const facts = { status: 'ready' as const, error: null, metadata: '{}', created: new Date().toISOString() }
  const row = { id: newId('kb_document'), name: 'a.txt', ...facts, size_bytes: 1, passage_count: passages.length }
  await store.transaction(trx => addDocument(trx, tenant, search, { row, original: Buffer.from('a'), passages }))
  const find = passageFinder(search)
  return { store, find, tenant, stranger: { ...tenant, organisationId: theirs.organisationId }, documentId: row.id }
}

const DELIVERY = 'Postage costs six euros.'
const OTHERS = Array.from({ length: 60 }, (_, i) => `Our garden has a rose of sort ${i}.`)

test('a passage of a large knowledge base is found by words of like meaning', async () => {
  const { store, find, tenant } = await knowing([...OTHERS, DELIVERY])
  const { passages, more } = await find(store.db, tenant, [], 'How much is shipping?')
  assert.equal(passages, [], 'no word of the question stands there')
  assert.equal(await more?.(), [DELIVERY])
  await store.close()
})

test('a small knowledge base is read as a whole: the own documents alone, and those the assistant may look into', async () => {
  const { store, find, tenant, stranger, documentId } = await knowing(['Roses are red.', DELIVERY])
  const more = async (whose: typeof tenant, documents: string[]) =>
    (await find(store.db, whose, documents, 'Anything?')).more?.()
  assert.equal(await more(tenant, []), ['Roses are red.', DELIVERY])
  assert.equal(await more(tenant, [documentId]), ['Roses are red.', DELIVERY])
  assert.equal(await more(tenant, ['kbd_other']), [])
  assert.equal(await more(stranger, []), [])
  await store.close()
})

test.run()
