import { DateTime } from 'luxon'
import Type, { type Static } from 'typebox'
import { invalid, isProblem, type Problem } from '../http/errors.ts'
import type { NounParts } from '../http/noun.ts'
import { operations, type Route } from '../http/route.ts'
import { input, nullable, oneOf, timestamp } from '../kernel/schema.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { PURPOSES } from '../models/tables.ts'
import { type Amounts, measureUsage } from '../usage/usage.ts'
import { modelUsage } from './model-usage.ts'

const api = operations('Organisation', 'organisation')

/** Maximum number of days or months in one answer. */
const MAX_ENTRIES = 366

const count = Type.Integer({ description: 'Those that began in that time.' })
const seconds = Type.Integer({ description: 'From answer to end, for those that have ended [s].' })
const amounts = {
  calls: Type.Object({ count, answered: Type.Integer(), seconds }),
  conference_sessions: Type.Object({ count, seconds }),
  media_streams: Type.Object({
    count,
    frames_sent: Type.Integer({ description: 'Frames of 20 ms, all tracks, for those that have ended.' }),
  }),
  recordings: Type.Object({
    count: Type.Integer({ description: 'Those that began in that time and are ready now.' }),
    seconds: Type.Integer({ description: 'Recorded [s].' }),
  }),
  transcripts: Type.Object({
    count: Type.Integer({ description: 'Those that began in that time and are ready now.' }),
    seconds: Type.Integer({ description: 'Transcribed [s].' }),
  }),
  messages: Type.Object({ count }),
  storage: Type.Object({
    bytes: Type.Integer({
      description: 'Stored at the end of that time: recordings, voicemails, audio assets, documents [bytes].',
    }),
  }),
  callbacks: Type.Object({ count }),
  copilot_sessions: Type.Object({
    count,
    input_tokens: Type.Integer({ description: 'Paid usage of their models, as the provider counts it.' }),
    output_tokens: Type.Integer(),
  }),
}

const cost = nullable(
  Type.Number({ description: 'In the currency of `TANDEM_MODEL_PRICES`; null: some of it has no known price.' }),
)
const tokens = { input_tokens: Type.Integer(), output_tokens: Type.Integer(), cost }
const models = Type.Object(
  { ...tokens, purposes: Type.Array(Type.Object({ purpose: oneOf([...PURPOSES]), model: Type.String(), ...tokens })) },
  {
    description:
      'Usage of language models by copilots, summaries and QA at the time of each request, as the provider counts it. Of a partial day, those of all of it.',
  },
)

export const usageSchema = Type.Object({
  object: Type.Literal('usage'),
  livemode: Type.Boolean(),
  from: timestamp(),
  to: timestamp('End of the time, exclusive.'),
  granularity: oneOf(['day', 'month']),
  seats: Type.Integer({ description: 'Active members with `takes_seat`, now.' }),
  data: Type.Array(Type.Object({ from: timestamp(), to: timestamp(), ...amounts, models }), {
    description: 'One entry for each UTC day or month, oldest first, including those without usage.',
  }),
})
type Usage = Static<typeof usageSchema>

export const usageRange = {
  from: Type.Optional(timestamp('Default: the first of this month, UTC.')),
  to: Type.Optional(timestamp('Default: now.')),
}
export const usageQuery = input({
  ...usageRange,
  granularity: Type.Optional(oneOf(['day', 'month'], { default: 'day' })),
})

export function usageRoutes(deps: NounParts): Route[] {
  return [
    api.get({
      path: '/usage',
      id: 'getUsage',
      summary: 'Retrieve usage',
      description: `For this key's mode, by UTC day or month; at most ${MAX_ENTRIES} of them.`,
      query: usageQuery,
      reply: usageSchema,
      handler: (context, { query: asked }) => usageOf(deps, context, asked),
    }),
  ]
}

/** An organisation's usage in one mode. */
export async function usageOf(
  { store, now }: NounParts,
  tenant: Tenant,
  asked: Static<typeof usageQuery>,
): Promise<Usage | Problem> {
  const granularity = asked.granularity ?? 'day'
  const to = asked.to === undefined ? now() : new Date(asked.to)
  const from = asked.from === undefined ? startOf(to, 'month') : new Date(asked.from)
  const periods = periodsBetween(from, to, granularity)
  if (isProblem(periods)) return periods
  const range = { from: from.toISOString(), to: to.toISOString() }
  const used = await measureUsage(store.reads, tenant, { ...range, granularity })
  const paid = await modelUsage(store.reads, tenant, { ...range, granularity })
  const data = periods.map(({ name, ...period }): Usage['data'][number] => ({
    ...period,
    ...shown(used(name)),
    models: paid(name),
  }))
  const seats = await seatsTaken(store, tenant)
  return { object: 'usage', livemode: tenant.livemode, ...range, granularity, seats, data }
}

async function seatsTaken({ db }: Store, tenant: Tenant): Promise<number> {
  const seated = forTenant(db, tenant).select('users').where('status', '=', 'active').where('takes_seat', '=', 1)
  return Number((await seated.select(({ fn }) => fn.countAll<number | string>().as('n')).executeTakeFirst())?.n ?? 0)
}

const startOf = (at: Date, unit: 'day' | 'month'): Date =>
  DateTime.fromJSDate(at, { zone: 'utc' }).startOf(unit).toJSDate()

interface NamedPeriod {
  /** Name of the day or month: the beginning of its ISO 8601 time, as in the stored amounts. */
  name: string
  from: string
  to: string
}

/** The UTC days or months within a period; the first and the last are cut to it. */
function periodsBetween(from: Date, to: Date, unit: 'day' | 'month'): NamedPeriod[] | Problem {
  if (to <= from) return invalid('to', 'to must be after from.')
  const periods: NamedPeriod[] = []
  for (
    let at = DateTime.fromJSDate(startOf(from, unit), { zone: 'utc' });
    at.toJSDate() < to;
    at = at.plus({ [unit]: 1 })
  ) {
    if (periods.length === MAX_ENTRIES) {
      return invalid('from', `There are more than ${MAX_ENTRIES} ${unit}s from then on.`)
    }
    const [start, end] = [at.toJSDate(), at.plus({ [unit]: 1 }).toJSDate()]
    periods.push({
      name: start.toISOString().slice(0, unit === 'day' ? 10 : 7),
      from: (start < from ? from : start).toISOString(),
      to: (end > to ? to : end).toISOString(),
    })
  }
  return periods
}

const wholeSeconds = (ms: number): number => Math.round(ms / 1000)

const shown = (used: Amounts): Omit<Usage['data'][number], 'from' | 'to' | 'models'> => ({
  calls: { count: used.calls, answered: used.answered_calls, seconds: wholeSeconds(used.call_ms) },
  conference_sessions: { count: used.conference_sessions, seconds: wholeSeconds(used.conference_ms) },
  media_streams: { count: used.media_streams, frames_sent: used.stream_frames },
  recordings: { count: used.recordings, seconds: wholeSeconds(used.recorded_ms) },
  transcripts: { count: used.transcripts, seconds: wholeSeconds(used.transcribed_ms) },
  messages: { count: used.messages },
  storage: { bytes: used.kept_bytes },
  callbacks: { count: used.callbacks },
  copilot_sessions: {
    count: used.copilot_sessions,
    input_tokens: used.copilot_input_tokens,
    output_tokens: used.copilot_output_tokens,
  },
})
