import Type from 'typebox'
import { assistantSettings } from '../assistants/assistant-settings.ts'
import { mainLeg } from '../calls/legs.ts'
import type { JobHandler } from '../kernel/jobs/runner.ts'
import { input } from '../kernel/schema.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { isModelFailure } from '../models/model.ts'
import type { WriterFor } from '../models/writer.ts'
import type { SummaryJob } from './summary-job.ts'
import { callbackOfOrigin } from './want-summary.ts'

interface SummaryDeps {
  store: Store
  now: () => Date
  writerFor: WriterFor
}

const MAX_ATTEMPTS = 5
const BACKOFF_MS = 10_000
/** Maximum length of the text for the model [characters]. The end is kept, where callers say why they want to be called. */
const MAX_TEXT = 20_000
const MAX_SUMMARY = 1000

const INSTRUCTIONS =
  'A caller has asked to be called back. Say for who calls back what the caller wants, from what was said and nothing else.'

const summarySchema = input({
  summary: Type.String({ description: 'What the caller wants, in two sentences at most.' }),
})

/**
 * Writes the summary of a callback from the call that requested it, by a model. Without a model, or if it fails finally, the summary is the
 * caller's own words; without words there is none.
 */
export const summaryHandler = ({ store, now, writerFor }: SummaryDeps): JobHandler<SummaryJob> => ({
  maxAttempts: MAX_ATTEMPTS,
  backoffMs: BACKOFF_MS,
  run: async ({ tenant, call_id: callId }, { signal, isLast, finish }) => {
    const { lines, language } = await saidIn(store.db, tenant, callId)
    const words = lines.flatMap(({ isCaller, text }) => (isCaller ? [text] : []))
    if (words.length === 0) return
    const writer = writerFor(tenant, signal)
    const text = lines.map(line => `${line.isCaller ? 'Caller' : 'We'}: ${line.text}`).join('\n')
    const task = { name: 'callback_summary', schema: summarySchema, instructions: INSTRUCTIONS, language }
    const written = await writer?.write({ ...task, text: text.slice(-MAX_TEXT) })
    const isFailed = written !== undefined && isModelFailure(written)
    if (isFailed && !isLast()) throw new Error(`no summary: ${written.message}`)
    const plain = words.join(' ')
    const summary = written === undefined || isFailed ? plain : (written.value?.summary ?? written.text)
    await store.transaction(async trx => {
      const callback = await callbackOfOrigin(trx, tenant, callId)
      // The words may have been deleted meanwhile.
      if (callback !== undefined && (await saidIn(trx, tenant, callId)).lines.length > 0) {
        const change = { summary: shortened(summary), updated: now().toISOString() }
        await forTenant(trx, tenant).change('callbacks', callback.id, change)
      }
      await finish(trx)
    })
  },
})

interface SaidLine {
  isCaller: boolean
  text: string
}

/** What was said in a call: its transcript, otherwise the turns of its flow or assistant. */
async function saidIn(db: Db, tenant: Tenant, callId: string): Promise<{ lines: SaidLine[]; language: string }> {
  const scoped = forTenant(db, tenant)
  // Not whoever was on the line first: where a member has placed the call, that is the member.
  const own = await mainLeg(db, tenant, callId)
  const segments = await scoped
    .select('transcript_segments')
    .select(['speaker', 'participant_id', 'text'])
    .where('call_id', '=', callId)
    .orderBy('start_ms')
    .orderBy('id')
    .execute()
  const language = await languageOf(db, tenant, callId)
  if (segments.length > 0) {
    const isCaller = (said: (typeof segments)[number]): boolean =>
      said.speaker === 'participant' && said.participant_id === own?.id
    const lines = segments.map(said => ({ isCaller: isCaller(said), text: said.text }))
    return { lines, language }
  }
  const turns = scoped.select('call_steps').select('entry').where('call_id', '=', callId).where('kind', '=', 'turn')
  const steps = await turns.orderBy('id').execute()
  const entries = steps.map(({ entry }) => JSON.parse(entry) as { role: string; source: string; text: string })
  // Pressed keys are no words.
  const said = entries.filter(({ role, source, text }) => text !== '' && !(role === 'customer' && source === 'dtmf'))
  return { lines: said.map(({ role, text }) => ({ isCaller: role === 'customer', text })), language }
}

/** The language of the transcript, otherwise that of the call's assistant. */
async function languageOf(db: Db, tenant: Tenant, callId: string): Promise<string> {
  const scoped = forTenant(db, tenant)
  const spoken = (await scoped.find('transcripts', callId))?.language
  if (spoken != null) return spoken
  const { assistant_id: assistantId = null } = (await scoped.find('call_programs', callId)) ?? {}
  return (await assistantSettings(db, tenant, assistantId))?.language ?? 'en'
}

/** Cut to the maximum length, between words. */
function shortened(text: string): string {
  const trimmed = text.trim()
  if (trimmed.length <= MAX_SUMMARY) return trimmed
  return `${trimmed.slice(0, MAX_SUMMARY - 1).replace(/\s+\S*$/, '')}…`
}
