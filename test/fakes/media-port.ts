import type { MediaPort } from '../../control/media-events.ts'
import type { CaptureState, CommandName, Commands, Failure, LegSnapshot, SipParty } from '../../media/protocol.ts'
import { QUALITY } from './media.ts'

const party = (user: string): SipParty => ({ uri: `sip:${user}@127.0.0.1`, user, host: '127.0.0.1', displayName: null })

const leg = (legId: string, more: Partial<LegSnapshot> = {}): LegSnapshot => ({
  legId,
  kind: 'sip',
  direction: 'outbound',
  state: 'answered',
  to: party('1000'),
  from: party('2000'),
  roomId: null,
  muted: false,
  deaf: false,
  held: false,
  onHold: false,
  collecting: false,
  playing: false,
  quality: QUALITY,
  ...more,
})

const capture = (paused: boolean): CaptureState => ({
  paused,
  reason: paused ? 'payment' : null,
  pausedAt: paused ? '2026-11-21T10:00:00.000Z' : null,
  resumesAt: paused ? '2026-11-21T10:05:00.000Z' : null,
  destinationLegId: null,
  maskDtmf: true,
})

const stream = (streamId: string, status: 'connecting' | 'stopped') => ({
  streamId,
  status,
  framesSent: 0,
  framesDropped: 0,
  endedReason: status === 'stopped' ? ('stopped' as const) : null,
})

type Handlers = { [N in CommandName]?: (body: Commands[N]['request']) => Commands[N]['reply'] }

const HANDLERS: Handlers = {
  'leg.dial': ({ legId }) => leg(legId, { state: 'dialing' }),
  'leg.update': ({ legId, muted = false, deaf = false }) => leg(legId, { muted, deaf }),
  'leg.hold': ({ legId, held }) => leg(legId, { onHold: held }),
  'leg.move': ({ legId, room, muted }) => leg(legId, { roomId: room.roomId, muted }),
  'leg.read': ({ legIds }) => ({ legs: legIds.map(legId => leg(legId)) }),
  'capture.pause': () => capture(true),
  'capture.resume': () => capture(false),
  'stream.start': ({ streamId }) => stream(streamId, 'connecting'),
  'stream.stop': ({ streamId }) => stream(streamId, 'stopped'),
  'stream.read': ({ streamIds }) => ({ streams: streamIds.map(streamId => stream(streamId, 'connecting')) }),
}

export type WillingMedia = MediaPort & { state: 'ready'; counters: { eventsLost: number } }

/** A media process with which all goes well at once: for what the API answers, where the calls themselves do not matter. */
export function willingMedia(): WillingMedia {
  return {
    state: 'ready',
    counters: { eventsLost: 0 },
    settled: async () => {},
    request: async (name, body) => (HANDLERS[name] as ((body: unknown) => never) | undefined)?.(body) ?? ({} as never),
  }
}

/** A media process that cannot be reached. */
export function absentMedia(): WillingMedia {
  const failure: Failure = { failure: 'unavailable', message: 'no connection' }
  return { ...willingMedia(), request: async () => failure }
}
