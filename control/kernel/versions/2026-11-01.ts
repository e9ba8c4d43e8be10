import { listed, renamed, revalued } from './shape.ts'
import { type ApiVersion, added, changed, deprecated } from './version.ts'

/** The middle of what each word stood for. */
const PRIORITIES = { low: 2, normal: 5, high: 8, urgent: 10 } as const
type Word = keyof typeof PRIORITIES

const callbacks = { objects: ['callback'], operations: ['createCallback', 'updateCallback'] } as const

export const version20261101: ApiVersion = {
  date: '2026-11-01',
  changes: [
    added(
      'Campaigns, imports, consents, do-not-call list, messages, quality (summaries, evaluations, insights, search), copilot sessions, tools, secrets, voices and models, partners.',
      '2026-11-29',
    ),
    added(
      'Queues, agents, teams, users, assistants, flows, audio assets, client tokens, recordings, connections, phone numbers, inbound routes, organisation, API keys, events, test helpers.',
      '2026-11-29',
    ),
    changed("A callback's number is `phone`, formerly `phone_number`.", {
      ...callbacks,
      shape: renamed('phone_number', 'phone'),
    }),
    changed(
      "A callback's `priority` is a number from 1 to 10, formerly `low` (1 to 3), `normal` (4 to 6), `high` (7 to 9) or `urgent` (10).",
      {
        ...callbacks,
        shape: revalued<Word, number>('priority', {
          schema: { type: 'string', enum: Object.keys(PRIORITIES), description: 'How soon it is returned.' },
          up: word => PRIORITIES[word],
          down: priority => (priority <= 3 ? 'low' : priority <= 6 ? 'normal' : priority <= 9 ? 'high' : 'urgent'),
        }),
      },
    ),
    changed(
      "A recording's `channels` have a `kind` and include the product's own channel, the last one of the file. Formerly they listed the participants only.",
      { objects: ['call_recording'], operations: [], shape: listed('channels', 'kind', 'participant') },
    ),
    changed(
      "A transcript's `segments` have a `speaker` and include the product's speech. Formerly they had the participants only.",
      { objects: ['call_transcript'], operations: [], shape: listed('segments', 'speaker', 'participant') },
    ),
    changed(
      "A media stream's `status` may be `stalled` if its receiver does not answer pings or does not read. Formerly it was `streaming`.",
      {
        objects: ['media_stream'],
        operations: [],
        shape: revalued<string, string>('status', {
          schema: { type: 'string', description: 'connecting, streaming, reconnecting, stopped, failed' },
          up: status => status,
          down: status => (status === 'stalled' ? 'streaming' : status),
        }),
      },
    ),
    changed(
      "A media stream's `mode` may be `bidirectional` if its receiver is also heard in the call. Formerly it was always `fork`.",
      {
        objects: ['media_stream'],
        operations: [],
        shape: revalued<string, string>('mode', {
          schema: { const: 'fork', type: 'string' },
          up: mode => mode,
          down: () => 'fork',
        }),
      },
    ),
    deprecated(
      'Version `2026-05-01`. It works until its sunset; until then it is translated to and from this version.',
      { version: '2026-05-01', sunset: '2027-12-01' },
    ),
    added('Bidirectional media streams: `mode` of a stream, `frames_received` and `frames_refused`.'),
    added('`ended_detail` of a media stream.'),
    added('Flow simulation, reports, knowledge base, copilot profiles.'),
  ],
}
