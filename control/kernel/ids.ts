import { encodeTime } from 'ulid'
import { newUlid } from '../../media/protocol.ts'

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
  copilot_session: 'cops',
  copilot_message: 'copm',
  copilot_input: 'copi',
  callback: 'cb',
  site: 'site',
  do_not_call_number: 'dnc',
  consent: 'cns',
  import: 'imp',
  audio_asset: 'aud',
  kb_document: 'kbd',
  kb_passage: 'kbp',
  qa_evaluation: 'qa',
  report: 'rpt',
  report_run: 'rptrun',
  flow: 'flow',
  flow_version: 'fver',
  flow_simulation: 'sim',
  call_step: 'step',
  call_input: 'cin',
  voicemail: 'vm',
  message: 'msg',
  transcript_segment: 'seg',
  ring: 'ring',
  transfer: 'xfer',
  campaign: 'cmp',
  campaign_contact: 'cct',
  campaign_attempt: 'cat',
  tool: 'tool',
  tool_version: 'tver',
  secret: 'sec',
} as const

/** Kinds that nouns add in their own folder (`declare module`, and `Noun.ids`). */
// biome-ignore lint/suspicious/noEmptyInterface: merged with what the nouns declare
export interface IdKinds {}
export type IdKind = keyof typeof PREFIXES | (keyof IdKinds & string)

/** Registers a noun's kinds of IDs, once per process. */
export const registerIds = (prefixes: Readonly<Record<string, string>>): void => void Object.assign(PREFIXES, prefixes)

const prefixOf = (kind: IdKind): string => (PREFIXES as Record<string, string>)[kind] ?? kind

/** A new ID, for example `call_01kah3…`. IDs of one kind sort by their time of creation. */
export const newId = (kind: IdKind): string => `${prefixOf(kind)}_${newUlid()}`

const CHANCE_LENGTH = 16

/** The smallest ID that could have been created at this time [ms]. */
export const idAt = (kind: IdKind, atMs: number): string =>
  `${prefixOf(kind)}_${encodeTime(Math.max(0, atMs)).toLowerCase()}${'0'.repeat(CHANCE_LENGTH)}`
