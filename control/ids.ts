import { monotonicFactory } from 'ulid'

/** The prefix of each object's ID (specification, "General rules"). */
export const PREFIXES = {
  organisation: 'org',
  api_key: 'key',
  event: 'evt',
  request: 'req',
  call: 'call',
  participant: 'part',
  media_stream: 'ms',
  conference_room: 'room',
  connection: 'conn',
  phone_number: 'pn',
  inbound_route: 'rte',
  webhook_endpoint: 'we',
  webhook_delivery: 'whd',
  team: 'team',
  user: 'usr',
  invitation: 'inv',
  queue: 'q',
  assistant: 'asst',
  copilot_profile: 'cop',
  callback: 'cb',
  audio_asset: 'aud',
  kb_document: 'kbd',
  kb_passage: 'kbp',
  report: 'rpt',
  report_run: 'rptrun',
  flow: 'flow',
  flow_version: 'fver',
  flow_simulation: 'sim',
} as const

export type IdKind = keyof typeof PREFIXES

const nextUlid = monotonicFactory()

/** A new ID, for example `call_01kah3…`: IDs of one kind sort by the time they were made. */
export const newId = (kind: IdKind): string => `${PREFIXES[kind]}_${nextUlid().toLowerCase()}`
