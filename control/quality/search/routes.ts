import type { SelectQueryBuilder } from 'kysely'
import Type, { type Static } from 'typebox'
import type { TranscriptSegmentRow } from '../../calls/programs/tables.ts'
import { invalid } from '../../http/errors.ts'
import { listOf, listParameters, page, within } from '../../http/list.ts'
import { operations, type Route } from '../../http/route.ts'
import { idAt } from '../../kernel/ids.ts'
import { apiObject, input, nullable, oneOf, timestamp } from '../../kernel/schema.ts'
import { showRow } from '../../kernel/show-row.ts'
import type { Db, Store } from '../../kernel/store/store.ts'
import { forTenant, type Tenant } from '../../kernel/tenancy.ts'
import { only } from '../period.ts'
import { highlightsIn, partsOf } from './query.ts'
import { segmentsWith } from './transcript-index.ts'

const api = operations('Quality', 'recordings')

const searchQuery = input({
  ...listParameters,
  query: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      description:
        'Words that all occur in one utterance, in any form; those in double quotes one after the other. Absent: everything that was said.',
    }),
  ),
  call_id: only('what was said in this call'),
  user_id: only('calls that this agent had last'),
  queue_id: only('calls that came by this queue'),
  speaker: Type.Optional(oneOf(['participant', 'product'])),
  from: Type.Optional(timestamp('Only calls made from then on.')),
  to: Type.Optional(timestamp('Only calls made before.')),
})

const hitSchema = apiObject('transcript_hit', {
  call_id: Type.String(),
  call_created: timestamp(),
  user_id: nullable(Type.String()),
  queue_id: nullable(Type.String()),
  speaker: Type.String({ description: 'participant, product' }),
  participant_id: Type.String(),
  text: Type.String(),
  start_ms: Type.Integer({ description: 'From the beginning of the transcript [ms].' }),
  end_ms: Type.Integer(),
  highlights: Type.Array(Type.Object({ start: Type.Integer(), end: Type.Integer() }), {
    description: 'Position of the words in `text` [characters].',
  }),
})

/** Segments are written during their call, which lasts no longer than this [ms]. */
const LONGEST_CALL_MS = 2 * 24 * 60 * 60 * 1000

type Hit = TranscriptSegmentRow & { call_created: string; user_id: string | null; queue_id: string | null }

export const transcriptSearchRoute = ({ store }: { store: Store }): Route =>
  api.get({
    path: '/transcripts/search',
    id: 'searchTranscripts',
    summary: 'Search transcripts',
    description: 'In the transcripts of all finished calls, newest first; each hit is one utterance.',
    query: searchQuery,
    reply: listOf(hitSchema),
    handler: async (context, { query }) => {
      const parts = partsOf(query.query ?? '')
      if (parts.length === 0 && query.query !== undefined) {
        return invalid('query', 'The query has no word to search for.')
      }
      const rows = hits(store.reads, context, parts, query)
      const ordering = 'transcript_segments.id'
      return page(rows, query, '/v1/transcripts/search', hit => toHit(hit, parts), ordering)
    },
  })

function hits(
  db: Db,
  tenant: Tenant,
  parts: readonly string[],
  { call_id, user_id, queue_id, speaker, from, to }: Static<typeof searchQuery>,
): SelectQueryBuilder<never, never, Hit> {
  let rows = forTenant(db, tenant)
    .select('transcript_segments')
    .innerJoin('calls', 'calls.id', 'transcript_segments.call_id')
    .selectAll('transcript_segments')
    .select(['calls.created as call_created', 'calls.user_id', 'calls.queue_id'])
    .where('calls.ended_at', 'is not', null)
  if (parts.length > 0) rows = rows.where('transcript_segments.id', 'in', segmentsWith(db, tenant, parts) as never)
  if (call_id !== undefined) rows = rows.where('transcript_segments.call_id', '=', call_id)
  if (user_id !== undefined) rows = rows.where('calls.user_id', '=', user_id)
  if (queue_id !== undefined) rows = rows.where('calls.queue_id', '=', queue_id)
  if (speaker !== undefined) rows = rows.where('transcript_segments.speaker', '=', speaker)
  if (from !== undefined) {
    rows = rows.where('transcript_segments.id', '>=', idAt('transcript_segment', Date.parse(from) - LONGEST_CALL_MS))
  }
  return within(rows, { column: 'calls.created', range: { gte: from, lt: to } }) as never
}

const toHit = (row: Hit, parts: readonly string[]): Static<typeof hitSchema> =>
  showRow(hitSchema, row, { highlights: highlightsIn(row.text, parts) })
