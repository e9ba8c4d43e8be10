import type { Kysely, Migration } from 'kysely'
import { addIndex, createWith, objectTable } from '../columns.ts'

async function callTables(db: Kysely<unknown>): Promise<void> {
  await createWith(objectTable(db, 'calls'), {
    kind: 'text',
    status: 'text',
    direction: 'text',
    to_address: 'text',
    from_address: 'text',
    target: 'text',
    room_id: 'text?',
    connection_id: 'text?',
    record: 'integer',
    metadata: 'text',
    ended_reason: 'text?',
    sip_code: 'integer?',
    created: 'text',
    ringing_at: 'text?',
    answered_at: 'text?',
    ended_at: 'text?',
  })
  await createWith(objectTable(db, 'participants'), {
    call_id: 'text',
    session_call_id: 'text?',
    step: 'text',
    leave_prompt: 'text?',
    leave_reason: 'text?',
    prompted: 'integer',
    pin_tries: 'integer',
    role: 'text',
    muted: 'integer',
    deaf: 'integer',
    joined_at: 'text?',
    left_at: 'text?',
    quality: 'text?',
    created: 'text',
  })
  await createWith(objectTable(db, 'media_streams'), {
    call_id: 'text',
    url: 'text',
    tracks: 'text',
    format: 'text',
    custom_parameters: 'text',
    status: 'text',
    frames_sent: 'integer',
    frames_dropped: 'integer',
    ended_reason: 'text?',
    created: 'text',
  })
  await createWith(objectTable(db, 'call_pauses', 'call_id'), {
    reason: 'text?',
    paused_at: 'text?',
    resumes_at: 'text?',
    destination_participant_id: 'text?',
  })
  await createWith(objectTable(db, 'recordings', 'call_id'), {
    status: 'text',
    file: 'text?',
    sample_rate: 'integer?',
    duration_ms: 'integer?',
    size_bytes: 'integer?',
    channels: 'text',
    segments: 'text',
    created: 'text',
  })
}

async function configurationTables(db: Kysely<unknown>): Promise<void> {
  await createWith(objectTable(db, 'conference_rooms'), {
    name: 'text',
    owner_id: 'text?',
    active: 'integer',
    pin_hash: 'text?',
    pin_length: 'integer?',
    moderator_pin_hash: 'text?',
    moderator_pin_length: 'integer?',
    settings: 'text',
    schedule: 'text',
    link_hash: 'text',
    created: 'text',
    updated: 'text',
  })
  await createWith(objectTable(db, 'inbound_routes'), {
    match_to: 'text?',
    match_from: 'text?',
    match_connection_id: 'text?',
    target: 'text',
    target_id: 'text?',
    priority: 'integer',
    created: 'text',
    updated: 'text',
  })
  await createWith(objectTable(db, 'phone_numbers'), {
    number: 'text',
    connection_id: 'text?',
    payment_line: 'integer',
    created: 'text',
    updated: 'text',
  })
  await createWith(objectTable(db, 'connections'), {
    name: 'text',
    kind: 'text',
    host: 'text?',
    port: 'integer',
    transport: 'text',
    auth_username: 'text?',
    auth_password: 'text?',
    allowed_ips: 'text',
    codecs: 'text',
    max_calls: 'integer?',
    enabled: 'integer',
    created: 'text',
    updated: 'text',
  })
}

/** Calls, participants, streams, recordings, rooms, routes, numbers and connections. */
export const calls: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await callTables(db)
    await configurationTables(db)
    const index = (table: string, ...columns: string[]): Promise<void> =>
      addIndex(db, `${table}_${columns.at(0)}`, table, columns)
    for (const table of ['calls', 'conference_rooms', 'inbound_routes', 'phone_numbers', 'connections']) {
      await index(table, 'organisation_id', 'livemode', 'id')
    }
    await index('calls', 'ended_at', 'room_id')
    await index('participants', 'call_id')
    await index('participants', 'session_call_id')
    await index('participants', 'left_at', 'step')
    await index('media_streams', 'call_id')
    await addIndex(db, 'phone_numbers_number', 'phone_numbers', ['organisation_id', 'livemode', 'number'], {
      isUnique: true,
    })
  },
}
