/** The scenario of all nouns' samples: a call of two and a half minutes into a conference room. */

export const CREATED = '2026-11-01T09:00:00.000Z'
export const ANSWERED = '2026-11-01T09:00:04.000Z'
export const CALL_ID = 'call_01k90000000000000000000001'
export const SESSION_ID = 'call_01k90000000000000000000002'
export const PARTICIPANT_ID = 'part_01k90000000000000000000003'
export const ROOM_ID = 'room_01k90000000000000000000004'
