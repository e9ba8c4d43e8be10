import { MEDIA_METRICS } from '../../../media/protocol.ts'

/** Descriptions of metrics that are plain numbers; those of `prom-client` are described where they are made. */
const HELP: Readonly<Record<string, string>> = {
  tandem_store_up: '1: the database can be read and written; 0: it cannot',
  tandem_media_up: '1: the media process answers; 0: it does not',
  tandem_channel_connections_total: 'Connections to the media process since the start',
  tandem_channel_events_total: 'Events of the media process that were applied',
  tandem_channel_batches_total: 'Transactions in which events of the media process were applied',
  tandem_channel_split_total: 'Batches of events that were applied one by one after one of them failed',
  tandem_channel_skipped_total: 'Events of the media process that were set aside',
  tandem_channel_events_lost_total: 'Events of the media process that it had to drop',
  tandem_channel_deadlines_total: 'Commands to the media process that were not answered in time',
  tandem_channel_refused_total: 'Commands that were not sent because too many waited',
  tandem_channel_store_outages_total:
    'Times that events of the media process waited because the store was away or full',
  tandem_channel_faults_total: 'Faults on the channel to the media process',
  tandem_channel_bad_stats_total: 'Counter reports of the media process that were invalid',
  tandem_channel_batch_events: 'Events of the media process in one transaction',
  tandem_webhooks_succeeded_total: 'Deliveries that were answered with 2xx',
  tandem_webhooks_failed_total: 'Deliveries that were given up after their last attempt',
  tandem_webhooks_retried_total: 'Attempts that failed and are tried again',
  tandem_webhooks_superseded_total: 'Attempts whose delivery was changed meanwhile',
  tandem_webhooks_broken_total: 'Attempts that failed on our side',
  tandem_webhooks_forgotten_total: 'Old deliveries that were deleted',
  tandem_webhooks_pending: 'Deliveries that are waiting, due or not',
  tandem_webhooks_overdue: 'Deliveries that are due and not yet taken',
  tandem_webhook_endpoints_disabled: 'Webhook endpoints that are switched off',
  tandem_jobs_done_total: 'Jobs that were done',
  tandem_jobs_retried_total: 'Attempts at jobs that failed and are tried again',
  tandem_jobs_given_up_total: 'Jobs that were given up after their last attempt',
  tandem_jobs_lost_total: 'Attempts at jobs whose lease was lost',
  tandem_jobs_waiting: 'Jobs that wait, due or not',
  tandem_jobs_given_up: 'Failed jobs that are kept for inspection',
  tandem_request_logs_written_total: 'Requests that were logged',
  tandem_request_logs_left_out_total: 'Requests that were not logged because too many were waiting',
  tandem_store_statements_total: 'Statements that this process has sent to SQLite',
  tandem_store_remembered_total: 'Queries that were answered from memory',
  tandem_store_transactions_total: 'Transactions that this process has begun in SQLite',
  tandem_control_resident_bytes: 'Memory of the control process',
  tandem_control_heap_bytes: 'Heap of control',
  tandem_control_external_bytes: 'Buffers of control',
  tandem_retention_recordings_deleted_total: 'Recordings that were deleted by age',
  tandem_retention_transcripts_deleted_total: 'Transcripts that were deleted by age',
  tandem_retention_turns_deleted_total: 'Turns of assistants and flows that were deleted by age',
  tandem_retention_copilots_deleted_total: 'Copilot sessions that were deleted by age',
  tandem_retention_voicemails_deleted_total: 'Voicemails that were deleted by age',
  tandem_retention_messages_deleted_total: 'Messages that were deleted by age',
  tandem_retention_summaries_deleted_total: 'Summaries that were deleted by age',
  tandem_retention_evaluations_deleted_total: 'Evaluations that were deleted by age',
  tandem_retention_calls_deleted_total: 'Calls that were deleted by age',
  tandem_retention_callbacks_deleted_total: 'Closed callbacks that were deleted by age',
  tandem_retention_events_deleted_total: 'Events of no call that were deleted by age',
  tandem_retention_contacts_deleted_total: 'Contacts of campaigns that were deleted by age',
  ...Object.fromEntries(Object.entries(MEDIA_METRICS).map(([name, text]) => [`tandem_media_${name}`, text])),
}

/** The metrics in the list. */
export const explainedMetrics = (): string[] => Object.keys(HELP)

/** The description of a metric; empty: nobody has written one. */
export const helpOf = (name: string): string => HELP[name] ?? ''
