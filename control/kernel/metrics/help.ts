/** What metrics mean that are counted as plain numbers; those of `prom-client` say it where they are made. */
const HELP: Readonly<Record<string, string>> = {
  tandem_media_up: '1: the media process answers; 0: it does not',
  tandem_channel_connections_total: 'Connections to the media process since the start',
  tandem_channel_events_total: 'Events of the media process that were applied',
  tandem_channel_batches_total: 'Transactions in which events of the media process were applied',
  tandem_channel_split_total: 'Batches of events that were applied one by one because one of them failed',
  tandem_channel_skipped_total: 'Events of the media process that were set aside',
  tandem_channel_events_lost_total: 'Events of the media process that it had to drop',
  tandem_channel_deadlines_total: 'Commands to the media process that were not answered in time',
  tandem_channel_refused_total: 'Commands that were not sent because too many waited',
  tandem_channel_faults_total: 'Faults on the channel to the media process',
  tandem_channel_bad_stats_total: 'Answers of the media process about its counters that made no sense',
  tandem_channel_batch_events: 'Events of the media process in one transaction',
  tandem_webhooks_succeeded_total: 'Deliveries that were answered with 2xx',
  tandem_webhooks_failed_total: 'Deliveries that were given up',
  tandem_webhooks_retried_total: 'Attempts that failed and are tried again',
  tandem_webhooks_superseded_total: 'Attempts whose delivery was changed meanwhile',
  tandem_webhooks_broken_total: 'Attempts that failed on our side',
  tandem_webhooks_forgotten_total: 'Old deliveries that were deleted',
  tandem_webhooks_pending: 'Deliveries that wait, due or not',
  tandem_webhooks_overdue: 'Deliveries that are due and wait for us',
  tandem_webhook_endpoints_disabled: 'Webhook endpoints that are switched off',
  tandem_jobs_done_total: 'Jobs that were done',
  tandem_jobs_retried_total: 'Attempts at jobs that failed and are tried again',
  tandem_jobs_given_up_total: 'Jobs that were given up after their last attempt',
  tandem_jobs_lost_total: 'Attempts at jobs whose lease was lost',
  tandem_jobs_waiting: 'Jobs that wait, due or not',
  tandem_jobs_given_up: 'Jobs that were given up and are kept to be looked at',
  tandem_request_logs_written_total: 'Requests that were written down',
  tandem_request_logs_left_out_total: 'Requests that were not written down because too many waited',
  tandem_media_legs: 'Legs, browsers and phones, that are there',
  tandem_media_rooms: 'Rooms of the engine: each call is one',
  tandem_media_streams: 'Media streams that run',
  tandem_media_browsers: 'Browsers that are connected',
  tandem_media_sip_sessions: 'SIP sessions',
  tandem_media_sip_watches: 'Far ends that are asked by OPTIONS whether they are there',
  tandem_media_channel_events_waiting: 'Events that wait until control has committed them',
  tandem_media_channel_events_lost_total: 'Events that were dropped because control was away too long',
  tandem_media_channel_bad_messages_total: 'Messages of control that could not be read',
  tandem_media_calls_refused_total: 'Incoming calls that were refused for want of room',
  tandem_media_signalling_faults_total: 'Faults in signalling that ended their call',
  tandem_media_engine_faults_total: 'Faults in the engine that ended their leg',
  tandem_media_engine_commands_unanswered_total: 'Commands to an engine thread that were not answered in time',
  tandem_media_registrations_refused_total: 'REGISTER requests that were refused',
  tandem_media_clock_late_slots_total: 'Slots of 5 ms that the audio clock was late for and caught up',
  tandem_media_clock_skipped_slots_total: 'Slots of 5 ms that the audio clock had to leave out: heard as gaps',
  tandem_media_rtp_packets_refused_total: 'RTP packets that were refused: unknown source, wrong tag, not RTP',
  tandem_media_stream_frames_sent_total: '20 ms frames that were sent to stream receivers',
  tandem_media_stream_frames_dropped_total: '20 ms frames that were dropped because a stream receiver was slow',
  tandem_media_utterances_total: 'Utterances that were given to speech to text',
  tandem_media_utterances_dropped_total: 'Utterances that were dropped because too many waited',
  tandem_media_utterances_failed_total: 'Utterances that could not be understood',
  tandem_media_utterances_noise_total: 'Voice without words, taken for noise',
  tandem_media_prompts_failed_total: 'Prompts that could not be played',
  tandem_media_speech_spoken_total: 'Texts that were spoken',
  tandem_media_speech_understood_total: 'Utterances that were understood',
  tandem_media_speech_failed_total: 'Uses of speech that failed',
  tandem_media_speech_characters_total: 'Characters that were spoken',
  tandem_media_speech_seconds_total: 'Seconds of audio that were understood',
  tandem_media_speech_speak_seconds_total: 'Seconds that speaking took',
  tandem_media_speech_transcribe_seconds_total: 'Seconds that understanding took',
  tandem_media_speech_restarts_total: 'Restarts of the speech process',
  tandem_media_speech_waiting: 'Uses of speech that wait',
  tandem_media_speech_memory_bytes: 'Memory of the speech process',
}

/** Those that the list explains. */
export const explainedMetrics = (): string[] => Object.keys(HELP)

/** What a metric means: as the list above says, else the words of its name. */
export function helpOf(name: string): string {
  const words = name
    .replace(/^tandem_/, '')
    .replace(/_total$/, '')
    .replaceAll('_', ' ')
  return (
    HELP[name] ??
    `${words.charAt(0).toUpperCase()}${words.slice(1)}${name.endsWith('_total') ? ', since the start' : ''}`
  )
}
