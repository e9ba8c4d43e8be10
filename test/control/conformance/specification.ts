/**
 * The specification's tables, as far as an API description can be compared with them. They are copied by hand from the specification,
 * so that anything lost in the code is noticed here.
 */

/**
 * Fields of the answers ("Resources and their fields"). A type: `T`, `T?` "T or null", `T*` where nullability is not shown;
 * `a|b` are the words of an enumeration, `T[]` a list. A dot leads into an object, `[]` into the items of a list.
 */
export const FIELDS: Record<string, string> = {
  ClientToken: `object client_token, token string, expires_at string, call_id string, assistant_id string?,
    agent_user_id string?, origin string?, livemode boolean, ws_url string`,
  FlowSimulation: `object flow_simulation, id string, flow_id string, livemode boolean, resumed boolean, turns object[],
    turns[].node_key string, turns[].role string, turns[].source string, turns[].text string, path object[],
    path[].from_node_key string?, path[].node_key string, path[].node_type string, path[].transition_key string?,
    path[].via string, actions object[], ended boolean, end_reason string?, current_node_key string?, variables object,
    coverage.node_pct number, coverage.transition_pct number, coverage.visited_node_keys string[],
    coverage.unvisited_node_keys string[], coverage.node_count integer, coverage.transition_count integer`,
  FlowValidation: `object flow_validation, valid boolean, issues object[], issues[].code string, issues[].field string?,
    issues[].message string, issues[].node_key string*, issues[].severity string, issues[].transition_key string?`,
  Flow: `id string, object flow, livemode boolean, name string, description string, kind voice|agent_script|ivr,
    status draft|published|archived, published_version integer?, latest_version integer, draft_rev integer,
    assistant_id string?, template_id string?, node_count integer, updated string`,
  CopilotProfile: `id string, object copilot_profile, livemode boolean, name string, version integer,
    template_id string?, goal string, tone string, company string, product string, language string, stages object[],
    stages[].key string, stages[].label string, stages[].goal string, stages[].checklist object[],
    stages[].checklist[].key string, stages[].checklist[].label string, stages[].checklist[].ask string,
    stages[].checklist[].phrases string[], stages[].checklist[].required boolean, objections object[],
    objections[].key string, objections[].label string, objections[].examples string[], objections[].triggers string[],
    objections[].response string, objections[].follow_up string, objections[].kb_query string, kb.document_ids string[],
    kb.links object[], kb.min_score number, fields object[], fields[].key string, fields[].label string,
    fields[].type string, fields[].hint string, fields[].options string[], fields[].pattern string,
    fields[].required boolean, compliance.required_disclosures object[], compliance.forbidden_phrases object[],
    compliance.forbidden_phrases[].phrase string, compliance.forbidden_phrases[].instead string,
    compliance.forbidden_phrases[].reason string, compliance.forbidden_phrases[].severity string,
    coaching.talk_ratio_max number, coaching.monologue_seconds_max number, coaching.silence_seconds_max number,
    coaching.wpm_max number, coaching.wpm_min number, alerts object[], alerts[].key string, alerts[].kind string,
    alerts[].label string, alerts[].message string, alerts[].notify_supervisor boolean, alerts[].phrases string[],
    alerts[].severity string, alerts[].threshold number, qa_rubric object[], qa_rubric[].key string,
    qa_rubric[].label string, qa_rubric[].description string, qa_rubric[].weight number, script.flow_id string?,
    model.model string, model.fallback_model string, model.temperature number, model.api chat|responses,
    model.priority boolean, model.max_calls_per_minute integer, model.speculative boolean, model.deep_path boolean,
    model.objection_similarity number, created string, updated string`,
  ConferenceRoom: `object conference_room, id string, livemode boolean, name string, owner_id string?, active boolean,
    has_pin boolean, pin_length integer?, has_moderator_pin boolean, dial_in string[], settings.record boolean,
    settings.transcribe boolean, settings.mute_on_entry boolean, settings.announce boolean,
    settings.lock_on_start boolean, settings.max_participants integer, settings.ai_note_taker boolean,
    settings.wait_for_moderator boolean, settings.language he|en, settings.description string,
    schedule.start_at string?, schedule.end_at string?, schedule.recurrence none|daily|weekly|weekdays,
    schedule.timezone string, live object?, live.started_at string, live.participants integer, created string,
    updated string`,
  ConferenceRoomWithLink:
    'object conference_room, id string, join_url string, has_pin boolean, settings.record boolean',
  ConferenceSession: `object conference_session, id string, started_at string, duration_ms integer,
    participants integer, status string, notes.summary string, notes.decisions string[], notes.action_items string[]`,
  AudioAsset: `object audio_asset, id string, livemode boolean, name string, kind prompt|music, sample_rate integer,
    duration_ms integer, text string, created string`,
  CallPci: `object call_pci, call_id string, paused boolean, reason string?, paused_at string?, resumes_at string?,
    destination_participant_id string?`,
  Queue: `id string, object queue, livemode boolean, name string, enabled boolean, strategy longest_idle|round_robin,
    member_user_ids string[], member_team_ids string[], ring_timeout_seconds integer, max_wait_seconds integer,
    wrap_up_seconds integer, away_on_missed boolean, overflow.when_no_agents boolean,
    overflow.action assistant|voicemail|busy|agent|queue|number, overflow.assistant_id string?,
    overflow.user_id string?, overflow.queue_id string?, overflow.number string, voicemail.message string,
    voicemail.max_seconds integer, hold.audio music|ringback|silence|asset, hold.audio_asset_id string?,
    hold.announcement string, hold.announce_position boolean, hold.position_interval_seconds integer,
    wait_keys.voicemail string, wait_keys.callback string, callbacks.route agent_queue|agent|assistant,
    callbacks.agent_id string?, callbacks.assistant_id string?, callbacks.priority integer,
    callbacks.voicemail_to_callback boolean, voice_assistant_id string?, copilot_profile_id string?, created string,
    updated string`,
  MediaStream: `id string, object media_stream, livemode boolean, call_id string, mode fork|bidirectional, url string,
    tracks inbound|outbound|both, format mulaw_8000|l16_16000|l16_8000, custom_parameters object,
    status connecting|streaming|reconnecting|stopped|failed, frames_sent integer, frames_dropped integer,
    ended_reason string?, created string`,
  TestHelperEvent: 'object test_event, id string, type string, livemode boolean',
  Team: 'id string, object team, livemode boolean, name string, member_count integer, created string',
  User: `id string, object user, livemode boolean, name string*, email string*, email_verified boolean*,
    role owner|admin|supervisor|agent, status active|deactivated|invited, team_id string*, extension string*,
    billing boolean*, takes_seat boolean*, last_login string*, created string*`,
  AgentStatus: `object agent_status, livemode boolean, user_id string, status string, since string, ringing boolean,
    queue_ids string[], call object*, call.call_id string, call.direction string, call.queue_id string*,
    call.started string, wrap_up_until string?`,
  ReportRun: `id string, object report_run, livemode boolean, report_id string, status string, trigger string,
    period_from string, period_to string, started_at string, finished_at string*, error string?, artifacts.csv boolean,
    artifacts.pdf boolean, recipients string[], deliveries object[], deliveries[].email string,
    deliveries[].status string, deliveries[].error string*`,
  Callback: `object callback, id string, livemode boolean, phone string, name string,
    status pending|offered|dialing|connected|completed|failed|cancelled|expired, source string, site_id string?,
    due_at string, window_end string?, priority integer, route string, queue_id string?, agent_id string?,
    assistant_id string?, attempts integer, max_attempts integer, last_attempt_at string?, last_result string?,
    call_id string?, origin_call_id string?, notes string, summary string?, sla_at string?, merged_requests integer,
    context.web object?, metadata object, completed_at string?, created string, updated string`,
  WebhookEndpointPublicKey: `object webhook_endpoint_public_key, endpoint_id string, algorithm ed25519,
    signature_version v1a, public_key string?, public_key_pem string?, previous_public_key string?,
    previous_public_key_pem string?, previous_expires_at string?, livemode boolean`,
}

const LIST = 'limit starting_after ending_before'
const PROFILE = `name goal tone company product language stages objections alerts fields qa_rubric kb.document_ids kb.links
  kb.min_score compliance.required_disclosures compliance.forbidden_phrases coaching.wpm_max script.flow_id script.version
  model.model model.api`
const QUEUE = `name enabled strategy member_user_ids member_team_ids ring_timeout_seconds max_wait_seconds wrap_up_seconds
  away_on_missed overflow.action overflow.assistant_id overflow.number overflow.queue_id overflow.user_id
  overflow.when_no_agents voicemail.max_seconds voicemail.message hold.announce_position hold.announcement hold.audio
  hold.audio_asset_id hold.position_interval_seconds wait_keys.callback wait_keys.voicemail callbacks.agent_id
  callbacks.assistant_id callbacks.priority callbacks.route callbacks.voicemail_to_callback voice_assistant_id
  copilot_profile_id`

/** "Endpoints": the operation, its success, its extra errors, and what it takes (in a body, or in the query of a GET); `!` is required. */
export const OPERATIONS: [operation: string, success: string, errors: string, takes: string][] = [
  ['GET /agents/{id}/status', '200 AgentStatus', '404', ''],
  ['GET /assistants', '200 AssistantList', '', LIST],
  ['POST /client_tokens', '201 ClientToken', '409', 'agent_user_id assistant_id metadata origin ttl_s'],
  [
    ...(['POST /flows/{id}/simulate', '200 FlowSimulation', '404 409'] as const),
    'messages message dtmf no_response sim_id variables version',
  ],
  ['POST /copilot_profiles/{id}/duplicate', '201 CopilotProfile', '404 409', 'name'],
  ['POST /conference_rooms/{id}/links', '200 ConferenceRoomWithLink', '404 409', ''],
  ['POST /audio_assets', '201 AudioAsset', '409', 'file! file.content_base64! file.filename kind name text'],
  ['POST /flows/validate', '200 FlowValidation', '409', 'graph! graph.nodes!'],
  ['POST /calls/{id}/pci', '200 CallPci', '404 409', 'action! destination_participant_id max_seconds reason'],
  ['POST /flows/{id}/duplicate', '201 Flow', '404 409', 'name'],
  ['PATCH /queues/{id}', '200 Queue', '404', QUEUE],
  [
    ...(['POST /conference_rooms', '200 ConferenceRoomWithLink', '409'] as const),
    `name! pin moderator_pin schedule.start_at schedule.end_at schedule.recurrence schedule.timezone
      settings.ai_note_taker settings.announce settings.description settings.language settings.lock_on_start
      settings.max_participants settings.mute_on_entry settings.record settings.transcribe settings.wait_for_moderator`,
  ],
  ['PATCH /copilot_profiles/{id}', '200 CopilotProfile', '404', PROFILE],
  ['DELETE /calls/{id}/streams/{stream_id}', '200 MediaStream', '404 409', ''],
  ['POST /test_helpers/events', '201 TestHelperEvent', '409', 'type!'],
  ['PATCH /audio_assets/{id}', '200 AudioAsset', '404', 'name text'],
  ['POST /teams', '201 Team', '409', 'name!'],
  ['GET /reports/{id}/runs', '200 ReportRunList', '404', LIST],
  ['PATCH /teams/{id}', '200 Team', '404', 'name'],
  ['GET /conference_rooms', '200 ConferenceRoomList', '', LIST],
  ['GET /users', '200 UserList', '', `${LIST} role status team_id`],
  ['DELETE /phone_numbers/{id}', '200 DeletedPhoneNumber', '404 409', ''],
  ['GET /conference_rooms/{id}/history', '200 ConferenceSessionList', '404', LIST],
  ['DELETE /kb/documents/{id}', '200 DeletedKbDocument', '404 409', ''],
  ['DELETE /audio_assets/{id}', '200 DeletedAudioAsset', '404 409', ''],
  ['DELETE /teams/{id}', '200 DeletedTeam', '404 409', ''],
  ['DELETE /flows/{id}', '200 DeletedFlow', '404 409', ''],
  [
    ...(['POST /callbacks', '200 Callback', '409'] as const),
    'phone! agent_id assistant_id call_id due_at max_attempts metadata name note priority queue_id route window_end',
  ],
  ['POST /callbacks/{id}/complete', '200 Callback', '404 409', 'note'],
  ['GET /webhook_endpoints/{id}/public_key', '200 WebhookEndpointPublicKey', '404 409', ''],
]

/** "General rules": objects and the prefix of their IDs. */
export const ID_PREFIXES: Record<string, string> = {
  call: 'call',
  assistant: 'asst',
  user: 'usr',
  team: 'team',
  queue: 'q',
  copilot_profile: 'cop',
  flow: 'flow',
  conference_room: 'room',
  audio_asset: 'aud',
  kb_document: 'kbd',
  phone_number: 'pn',
  callback: 'cb',
  webhook_endpoint: 'we',
  event: 'evt',
  media_stream: 'ms',
  flow_simulation: 'sim',
  report: 'rpt',
  report_run: 'rptrun',
}
