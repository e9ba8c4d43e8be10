import { DEFAULT_SETTINGS } from '../assistants/schema.ts'
import { newId } from '../kernel/ids.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { addDocument } from '../knowledge/add-document.ts'
import { passagesOf } from '../knowledge/passages.ts'
import type { PassageSearch } from '../knowledge/search.ts'

/** The demo assistant's knowledge, in short sentences that are easy to listen to. */
const DOCUMENTS = [
  {
    name: 'Opening hours.txt',
    text: 'Our opening hours are nine in the morning to six in the evening, from Monday to Friday. On Saturday we open from ten to two. On Sunday we are closed.',
  },
  {
    name: 'Address.txt',
    text: 'Our address is twelve Harbour Street, next to the old lighthouse. You can park behind the shop for free. The nearest station is Harbour Square.',
  },
  {
    name: 'Delivery and returns.txt',
    text: 'Delivery takes three working days and costs five euros. Orders above fifty euros are delivered for free. You can return everything within thirty days and get your money back. To change an order, tell us the order number.',
  },
  {
    name: 'Payment.txt',
    text: 'You can pay by card, by bank transfer, or in cash at the shop. We send the invoice by email. A gift card is valid for two years.',
  },
]

const NAME = 'Demo assistant'
const GREETING = 'Hello, this is the Harbour Shop. How can I help you?'
const PROMPT =
  'You answer the phone of the Harbour Shop, a small shop at the sea. Answer from what you know; say so when you do not know.'

/** An assistant that answers questions about a shop from its documents. Returns its ID. */
export async function seedAssistant(trx: Trx, tenant: Tenant, search: PassageSearch, at: string): Promise<string> {
  const documentIds: string[] = []
  for (const { name, text } of DOCUMENTS) {
    const id = newId('kb_document')
    const passages = passagesOf(text)
    const original = Buffer.from(text)
    const facts = { status: 'ready' as const, error: null, metadata: '{}', created: at }
    const row = { id, name, ...facts, size_bytes: original.length, passage_count: passages.length }
    await addDocument(trx, tenant, search, { row, original, passages })
    documentIds.push(id)
  }
  const id = newId('assistant')
  const settings = { ...DEFAULT_SETTINGS, prompt: PROMPT, greeting: GREETING, kb_document_ids: documentIds }
  await forTenant(trx, tenant).insert('assistants', {
    id,
    name: NAME,
    flow_id: null,
    settings: JSON.stringify(settings),
    created: at,
    updated: at,
  })
  return id
}
