/**
 * The protocol between the control process and the media process, and the only file of `media/` that control may import. Its parts are in
 * `protocol/`.
 *
 * The transport is a Unix socket; a message is a 4-byte big-endian length and that many bytes of UTF-8 JSON. Both sides begin with `hello`. Control
 * sends requests and acknowledgements, media sends replies and events. Events are numbered; media keeps each (bounded, counted) until control has
 * acknowledged it, and sends what is not acknowledged again after a reconnect. A reply is sent after every event that was raised before it.
 */

export const PROTOCOL_VERSION = 2

export * from './protocol/addresses.ts'
export * from './protocol/at-most.ts'
export * from './protocol/chance.ts'
export * from './protocol/commands.ts'
export * from './protocol/entry.ts'
export * from './protocol/events.ts'
export * from './protocol/fair-shares.ts'
export * from './protocol/identity.ts'
export * from './protocol/log-output.ts'
export * from './protocol/messages.ts'
export * from './protocol/metrics.ts'
export * from './protocol/newcomers.ts'
export * from './protocol/outgoing.ts'
export * from './protocol/parts.ts'
export * from './protocol/rate-limit.ts'
export * from './protocol/refusal-log.ts'
export * from './protocol/rehearsal.ts'
export * from './protocol/sealed-file.ts'
export * from './protocol/shapes.ts'
export * from './protocol/voices.ts'
export * from './protocol/worker-entry.ts'
