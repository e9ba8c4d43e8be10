import { setImmediate as nextTurn } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { removeRecordingFiles } from '../calls/capture/recording-files.ts'
import { contactsOver, forgetNumbers, removeContact } from '../campaigns/removal.ts'
import { forgetSession } from '../copilot/sessions/removal.ts'
import { idAt } from '../kernel/ids.ts'
import type { Store, Trx } from '../kernel/store/store.ts'
import type { Database } from '../kernel/store/tables.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
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
  table: keyof Database
  id: 'id' | 'call_id'
  /** Column from which the time counts. */
  since: 'id' | 'created' | 'ended_at' | 'at'
  /** Condition: the row is no longer in progress, and was not after this time. */
  isOver: (until: string) => RawBuilder<unknown>
}

interface Before {
  organisationId: string
  until: string
}

/** A kind of rows that its own noun finds. */
interface Found extends Kind {
  due: (trx: Trx, by: Before) => Promise<Due[]>
}

const HAVE_FILES = ['recordings', 'voicemails', 'calls']

/** What most kinds have in common. */
const rows = (
  table: Rows['table'],
  kept: 'recordings' | 'transcripts' | 'voicemails' | 'calls' | 'summaries' | 'evaluations',
  remove: Kind['remove'],
  isOver: Rows['isOver'] = () => sql`1 = 1`,
  more: Partial<Pick<Rows, 'id' | 'since'>> = {},
): Rows => {
  const usual = { id: 'id', since: 'created', hasFiles: HAVE_FILES.includes(table) } as const
  return { table, days: `${kept}_days`, remove, isOver, ...usual, ...more }
}

const dropRow =
  (table: 'callbacks' | 'events'): Kind['remove'] =>
  (trx, tenant, id) =>
    forTenant(trx, tenant).delete(table).where('id', '=', id).execute()

const IS_WRITTEN = sql`status in ('wanted', 'running')`
const isTranscribed = (call: string) =>
  sql`exists (select 1 from transcripts where transcripts.id = ${sql.ref(call)} and ${IS_WRITTEN})`

const KINDS = {
  recordings: rows('recordings', 'recordings', removeRecording, () => sql`status <> 'recording'`, { id: 'call_id' }),
  transcripts: rows('transcripts', 'transcripts', removeTranscript, () => sql`not ${IS_WRITTEN}`),
  // Of calls without a transcript, too.
  turns: rows(
    'call_steps',
    'transcripts',
    removeTranscript,
    () => sql`kind = 'turn' and not ${isTranscribed('call_steps.call_id')}`,
    { id: 'call_id', since: 'at' },
  ),
  // What a copilot has heard is a transcript too. The remaining row keeps the count of its tokens.
  copilots: rows('copilot_sessions', 'transcripts', forgetSession, () => sql`forgotten = 0 and status <> 'running'`),
  voicemails: rows('voicemails', 'voicemails', removeVoicemail, () => sql`status <> 'recording'`),
  // Texts of members' phones are kept as long as transcripts.
  messages: rows('messages', 'transcripts', removeMessage, () => sql`status <> 'queued'`),
  summaries: rows('call_summaries', 'summaries', removeSummary),
  evaluations: rows('qa_evaluations', 'evaluations', removeEvaluation),
  calls: rows(
    'calls',
    'calls',
    removeCall,
    () => sql`not exists (select 1 from recordings where call_id = calls.id and status = 'recording')
      and not ${isTranscribed('calls.id')}`,
    { since: 'ended_at' },
  ),
  callbacks: rows('callbacks', 'calls', dropRow('callbacks'), until => sql`open_phone is null and updated < ${until}`),
  // Those of calls go with their call. Others name people too: callbacks, numbers on lists, contacts of campaigns.
  events: rows(
    'events',
    'calls',
    dropRow('events'),
    () => sql`not exists (select 1 from calls where calls.id = events.call_id)`,
    { since: 'id' },
  ),
  contacts: {
    days: 'campaign_contacts_days',
    remove: removeContact,
    hasFiles: false,
    due: (trx, by) => contactsOver(trx, { ...by, limit: BATCH }),
  },
} satisfies Record<string, Rows | Found>

/** Objects stored before `until`, oldest first in each mode, with which the indexes of most tables begin. */
async function dueOf(trx: Trx, kind: Rows | Found, { organisationId, until }: Before): Promise<Due[]> {
  if ('due' in kind) return kind.due(trx, { organisationId, until })
  const { table, id, since, isOver } = kind
  const before = since === 'id' ? idAt('event', Date.parse(until)) : until
  const due: Due[] = []
  for (const livemode of [1, 0]) {
    const { rows } = await sql<Due>`
      select ${sql.ref(id)} as id, organisation_id, livemode from ${sql.table(table)}
      where organisation_id = ${organisationId} and livemode = ${livemode} and ${sql.ref(since)} < ${before} and ${isOver(until)}
      order by ${sql.ref(since)} limit ${sql.lit(BATCH - due.length)}`.execute(trx)
    due.push(...rows)
  }
  return due
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
  readonly counters = Object.fromEntries(Object.keys(KINDS).map(kind => [`${kind}Deleted`, 0])) as Record<
    `${keyof typeof KINDS}Deleted`,
    number
  >
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
