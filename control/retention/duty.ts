import { setImmediate as nextTurn } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { removeRecordingFiles } from '../calls/capture/recording-files.ts'
import { contactsOver, forgetNumbers, removeContact } from '../campaigns/removal.ts'
import { forgetSession } from '../copilot/sessions/removal.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { removeMessage } from '../messages/delivery.ts'
import { type Retention, retentionOf } from '../organisation/retention.ts'
import { removeEvaluation, removeSummary } from '../quality/removal.ts'
import { removeCall, removeRecording, removeTranscript, removeVoicemail } from './removal.ts'

const DAY_MS = 86_400_000
/** Rows per transaction, small because calls wait for it. */
const BATCH = 10

type Due = { id: string; organisation_id: string; livemode: number }

interface Kind {
  days: keyof Retention
  remove: (trx: Trx, tenant: Tenant, id: string, at: string) => Promise<unknown>
  hasFiles: boolean
}

/** A kind of rows that expire after a time in them. */
interface Rows extends Kind {
  table:
    | 'recordings'
    | 'transcripts'
    | 'voicemails'
    | 'messages'
    | 'copilot_sessions'
    | 'call_summaries'
    | 'qa_evaluations'
    | 'calls'
  id: 'id' | 'call_id'
  /** Column from which the time counts. */
  since: 'created' | 'ended_at'
  /** Condition: the row is still in progress. */
  isBusy: RawBuilder<unknown>
}

/** A kind of rows that its own noun finds. */
interface Found extends Kind {
  due: (trx: Trx, by: { organisationId: string; until: string }) => Promise<Due[]>
}

const NEVER = sql`1 = 0`

const KINDS = {
  recordings: {
    days: 'recordings_days',
    table: 'recordings',
    id: 'call_id',
    since: 'created',
    isBusy: sql`status = 'recording'`,
    remove: removeRecording,
    hasFiles: true,
  },
  transcripts: {
    days: 'transcripts_days',
    table: 'transcripts',
    id: 'id',
    since: 'created',
    isBusy: sql`status in ('wanted', 'running')`,
    remove: removeTranscript,
    hasFiles: false,
  },
  // What a copilot has heard is a transcript too. The remaining row keeps the count of its tokens.
  copilots: {
    days: 'transcripts_days',
    table: 'copilot_sessions',
    id: 'id',
    since: 'created',
    isBusy: sql`status = 'running'
      or not exists (select 1 from copilot_messages where session_id = copilot_sessions.id)`,
    remove: forgetSession,
    hasFiles: false,
  },
  voicemails: {
    days: 'voicemails_days',
    table: 'voicemails',
    id: 'id',
    since: 'created',
    isBusy: sql`status = 'recording'`,
    remove: removeVoicemail,
    hasFiles: true,
  },
  // Texts of members' phones are kept as long as transcripts.
  messages: {
    days: 'transcripts_days',
    table: 'messages',
    id: 'id',
    since: 'created',
    isBusy: sql`status = 'queued'`,
    remove: removeMessage,
    hasFiles: false,
  },
  summaries: {
    days: 'summaries_days',
    table: 'call_summaries',
    id: 'id',
    since: 'created',
    isBusy: NEVER,
    remove: removeSummary,
    hasFiles: false,
  },
  evaluations: {
    days: 'evaluations_days',
    table: 'qa_evaluations',
    id: 'id',
    since: 'created',
    isBusy: NEVER,
    remove: removeEvaluation,
    hasFiles: false,
  },
  calls: {
    days: 'calls_days',
    table: 'calls',
    id: 'id',
    since: 'ended_at',
    isBusy: sql`exists (select 1 from recordings where call_id = calls.id and status = 'recording')
      or exists (select 1 from transcripts where transcripts.id = calls.id and transcripts.status in ('wanted', 'running'))`,
    remove: removeCall,
    hasFiles: true,
  },
  contacts: {
    days: 'campaign_contacts_days',
    remove: removeContact,
    hasFiles: false,
    due: (trx, by) => contactsOver(trx, { ...by, limit: BATCH }),
  },
} satisfies Record<string, Rows | Found>

/** Objects stored before `until`, oldest first. */
async function dueOf(
  trx: Trx,
  kind: Rows | Found,
  { organisationId, until }: { organisationId: string; until: string },
): Promise<Due[]> {
  if ('due' in kind) return kind.due(trx, { organisationId, until })
  const { table, id, since, isBusy } = kind
  const { rows } = await sql<Due>`
    select ${sql.ref(id)} as id, organisation_id, livemode from ${sql.table(table)}
    where organisation_id = ${organisationId} and ${sql.ref(since)} < ${until} and not (${isBusy})
    order by ${sql.ref(since)} limit ${sql.lit(BATCH)}`.execute(trx)
  return rows
}

interface RetentionParts {
  store: Store
  dataDir: string
  now: () => Date
  log: { info(fields: object, message: string): void }
}

/** Deletes what an organisation does not want to keep any longer, files and rows. */
export class RetentionDuty {
  /** Deleted objects, by kind. */
  readonly counters = {
    recordingsDeleted: 0,
    transcriptsDeleted: 0,
    copilotsDeleted: 0,
    voicemailsDeleted: 0,
    messagesDeleted: 0,
    summariesDeleted: 0,
    evaluationsDeleted: 0,
    callsDeleted: 0,
    contactsDeleted: 0,
  }
  readonly #parts: RetentionParts

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  async run(): Promise<void> {
    await this.#forgetNumbers()
    const organisations = this.#parts.store.db.selectFrom('organisations').select(['id', 'retention'])
    for (const { id, retention } of await organisations.where('retention', 'is not', null).execute()) {
      const days = retentionOf(retention)
      for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[]) {
        const kept = days[KINDS[kind].days]
        if (kept !== null) await this.#removeAll(kind, id, kept)
      }
    }
  }

  /** Deletes the numbers of deleted contacts, whoever deleted these. */
  async #forgetNumbers(): Promise<void> {
    const { store, now } = this.#parts
    const at = now().toISOString()
    while ((await store.transaction(trx => forgetNumbers(trx, at))) > 0);
  }

  async #removeAll(kind: keyof typeof KINDS, organisationId: string, days: number): Promise<void> {
    const { store, log, now } = this.#parts
    const until = new Date(now().getTime() - days * DAY_MS).toISOString()
    let count = 0
    for (let removed = BATCH; removed === BATCH; count += removed)
      removed = await this.#removeSome(kind, organisationId, until)
    if (count === 0) return
    await store.durable()
    log.info({ organisationId, kind, count, days }, 'what was kept long enough was deleted')
  }

  async #removeSome(kind: keyof typeof KINDS, organisationId: string, until: string): Promise<number> {
    const { remove, hasFiles } = KINDS[kind]
    const at = this.#parts.now().toISOString()
    const rows = await this.#parts.store.transaction(async trx => {
      const found = await dueOf(trx, KINDS[kind], { organisationId, until })
      for (const { id, livemode } of found) await remove(trx, { organisationId, livemode: livemode === 1 }, id, at)
      return found
    })
    if (hasFiles) for (const { id } of rows) await removeRecordingFiles(this.#parts.dataDir, id)
    this.counters[`${kind}Deleted`] += rows.length
    // SQLite blocks the event loop, so other work gets a turn here.
    await nextTurn()
    return rows.length
  }
}
