import {
  type CommandName,
  type Commands,
  type Failure,
  isFailure,
  type OwnCommandName,
  type Reply,
  type Request,
  type StreamSnapshot,
} from '../../media/protocol.ts'
import { MediaModel, type ModelLeg, partyOf, snapshotOf } from './media-model.ts'

const NO_TRACE = { messages: [], dropped: 0, packets: null }
const RECORDED = { sampleRateHz: 8000, durationMs: 5000, sizeBytes: 80_044, channels: [], segments: [] }

type Handler<N extends CommandName> = (
  model: MediaDouble,
  body: Commands[N]['request'],
) => Commands[N]['reply'] | Failure

const notFound = (id: string): Failure => ({ failure: 'not_found', message: `no ${id} here` })
const conflict = (message: string): Failure => ({ failure: 'conflict', message })
const LATE: Failure = { failure: 'unanswered', message: 'no answer of the engine thread' }

/** A handler that acts on the named leg; failure `not_found` if there is none. */
const toLeg =
  <B extends { legId: string }>(act: (leg: ModelLeg, body: B, model: MediaModel) => unknown) =>
  (model: MediaModel, body: B) => {
    const leg = model.legs.get(body.legId)
    if (leg === undefined) return notFound(body.legId)
    act(leg, body, model)
    return {}
  }

/** The same, with the leg's snapshot as reply. */
const withLeg =
  <B extends { legId: string }>(act: (leg: ModelLeg, body: B, model: MediaModel) => Failure | undefined) =>
  (model: MediaModel, body: B) => {
    const leg = model.legs.get(body.legId)
    if (leg === undefined) return notFound(body.legId)
    return act(leg, body, model) ?? snapshotOf(leg)
  }

function bridged(model: MediaModel, { referId }: { referId: string }): Failure | Record<string, never> {
  const refer = model.refers.get(referId)
  if (refer === undefined) return notFound(referId)
  refer.accepted = true
  return {}
}

const recording = (model: MediaModel, { recordingId }: { recordingId: string }) =>
  model.recordings.has(recordingId) ? {} : notFound(recordingId)

const browser = (model: MediaModel, { browserId }: { browserId: string }) =>
  model.closedBrowsers.has(browserId) ? notFound(browserId) : {}

/** One entry per command: the compiler asks for that of a new command. */
const COMMANDS: { [N in OwnCommandName]: Handler<N> } = {
  'leg.answer': withLeg((leg, { room }, model) => {
    if (leg.state !== 'incoming') return conflict('answered already')
    leg.room = room
    model.pickUp(leg.legId)
    return undefined
  }),
  'leg.ring': toLeg((leg, { early }, model) => {
    if (leg.state === 'incoming' && early !== undefined && leg.roomId === null) model.enter(leg, early.room)
  }),
  'leg.reject': (model, { legId, reason, sipCode }) => {
    const leg = model.legs.get(legId)
    if (leg === undefined) return notFound(legId)
    if (leg.state !== 'incoming') return conflict('answered already')
    model.hangUp(legId, reason, sipCode)
    return {}
  },
  'leg.challenge': toLeg(({ legId }, _body, model) => model.hangUp(legId, 'rejected')),
  'leg.pass_on': toLeg(({ legId }, _body, model) => model.hangUp(legId, 'rejected')),
  'leg.verify': (model, { legId }) => (model.legs.has(legId) ? model.verification : notFound(legId)),
  'leg.check_caller': (model, { legId, ha1 }) => (model.legs.has(legId) ? { isRight: ha1 !== null } : notFound(legId)),
  'leg.reserve': model => (model.legs.size >= model.maxCalls ? FULL : {}),
  'leg.release': () => ({}),
  'leg.dial': (model, { legId, target, room, timeoutS, sound = {} }) => {
    if (model.legs.size >= model.maxCalls) return FULL
    if (model.known.has(legId)) return conflict('the leg was dialled before')
    if ('browserId' in target && model.closedBrowsers.has(target.browserId)) return notFound(target.browserId)
    model.known.add(legId)
    const asked = { direction: 'outbound' as const, state: 'dialing' as const, room, timeoutS, sound }
    const leg =
      'browserId' in target
        ? model.add(legId, { ...asked, dialled: target.browserId })
        : model.add(legId, {
            ...asked,
            dialled: target.uri,
            to: partyOf(target.uri, ''),
          })
    return snapshotOf(leg)
  },
  'leg.redirect_answer': (model, { redirectId, to, reason }) => {
    const legId = model.redirects.get(redirectId)
    if (!model.redirects.delete(redirectId) || legId === undefined) return notFound(redirectId)
    const leg = model.legs.get(legId)
    if (leg !== undefined && to.length > 0) leg.dialled = to[0]!
    else model.hangUp(legId, reason, 302)
    return {}
  },
  'leg.refer_answer': (model, { referId, sipCode }) => {
    const refer = model.refers.get(referId)
    if (refer === undefined) return notFound(referId)
    if (sipCode >= 300) model.refers.delete(referId)
    refer.accepted = true
    return {}
  },
  'leg.refer_notify': (model, { referId, sipCode }) => {
    if (model.refers.get(referId)?.accepted !== true) return notFound(referId)
    if (sipCode >= 200) model.refers.delete(referId)
    return {}
  },
  'leg.refer_bridge': bridged,
  'leg.refer_join': bridged,
  'leg.refer': (model, { legId, referId }) => {
    if (!model.legs.has(legId)) return notFound(legId)
    model.refers.set(referId, { legId, accepted: true })
    return {}
  },
  'leg.replace': (model, { legId, byLegId }) => {
    const [leg, by] = [model.legs.get(legId), model.legs.get(byLegId)]
    if (by === undefined) return notFound(byLegId)
    if (leg === undefined) {
      model.hangUp(byLegId, 'not_found', 481)
      return notFound(legId)
    }
    if (leg.state !== 'answered') model.pickUp(legId)
    if (by.joins) model.emit('leg.replaced', { legId, by: partyOf('node', 'phones'), joins: true })
    model.hangUp(byLegId, 'transfer_completed')
    return {}
  },
  'leg.hangup': toLeg(({ legId }, { reason }, model) => model.hangUp(legId, reason)),
  'leg.move': withLeg((leg, { room, mustExist, muted, payment }, model) => {
    const isThere = leg.roomId === room.roomId
    if (mustExist && !model.rooms.has(room.roomId)) return notFound(room.roomId)
    if (!isThere && model.isFull(room)) return { failure: 'capacity', message: 'the room is full' }
    const target = { legId: leg.legId }
    if (payment !== undefined) model.pause({ ...payment, target, destinationLegId: leg.legId })
    if (isThere) return undefined
    const waits = room.kind === 'conference' && !model.conferences.has(leg.roomId ?? '')
    const entersMuted = (waits ? leg.mutedHere : null) ?? muted
    Object.assign(leg, { muted: entersMuted, mutedHere: null, playing: false, playId: null, heardBy: null })
    model.leave(leg)
    model.enter(leg, room)
    return undefined
  }),
  'leg.update': withLeg((leg, { muted, deaf, heardBy, sound }) => {
    leg.muted = muted ?? leg.muted
    leg.mutedHere = muted ?? leg.mutedHere
    leg.deaf = deaf ?? leg.deaf
    if (heardBy !== undefined) leg.heardBy = heardBy
    leg.sound = { ...leg.sound, ...sound }
    if (sound?.speechEvents !== undefined)
      leg.voice = sound.speechEvents === true ? { isSpeaking: false, levelDbov: -127 } : null
    return undefined
  }),
  'leg.hold': withLeg((leg, { held }) => {
    leg.onHold = held
    return undefined
  }),
  'leg.listen': toLeg(() => {}),
  'leg.stop_listen': toLeg(() => {}),
  'leg.read': (model, { legIds }) => ({ legs: legIds.flatMap(id => model.legs.get(id) ?? []).map(snapshotOf) }),
  'leg.play': toLeg((leg, { playId, hangupAfter }, model) => {
    Object.assign(leg, { playing: true, playId })
    if (!model.playsAtOnce) return
    model.emit('play.started', { legId: leg.legId, playId, clockMs: model.clockMs })
    model.heard(leg.legId, playId)
    if (hangupAfter !== null) model.hangUp(leg.legId, hangupAfter)
  }),
  'leg.stop_play': toLeg(leg => Object.assign(leg, { playing: false, playId: null })),
  'leg.collect': toLeg(leg => Object.assign(leg, { collecting: true })),
  'leg.trace_packets': toLeg(() => {}),
  'leg.send_dtmf': (model, { legId }) => {
    const leg = model.legs.get(legId)
    return leg === undefined ? notFound(legId) : { masked: model.isPaused(leg) }
  },
  'room.play': (model, { roomId }) => (model.rooms.has(roomId) ? {} : notFound(roomId)),
  'room.close': (model, { roomId, reason }) => {
    const members = model.rooms.get(roomId)
    if (members === undefined) return notFound(roomId)
    for (const legId of [...members]) model.hangUp(legId, reason)
    return {}
  },
  'capture.pause': (model, request) => (model.isHere(request.target) ? model.pause(request) : notFound('target')),
  'capture.direct': (model, request) => (model.isHere(request.target) ? model.direct(request) : notFound('target')),
  'capture.resume': (model, { target, request }) =>
    model.isHere(target) ? model.resume(target, 'command', request) : notFound('target'),
  'stream.start': (model, { streamId, target, request }) => {
    if (!model.isHere(target)) return notFound(streamId)
    if (model.streams.has(streamId)) return conflict('it runs already')
    const stream: StreamSnapshot = {
      streamId,
      status: 'streaming',
      framesSent: 0,
      framesDropped: 0,
      framesReceived: 0,
      framesRefused: 0,
      endedReason: null,
    }
    model.streams.set(streamId, stream)
    model.emit('stream.changed', { ...stream, ...(request && { request }) })
    return stream
  },
  'stream.stop': (model, { streamId, request }) => {
    const stream = model.streams.get(streamId)
    if (stream === undefined) return notFound(streamId)
    model.streams.delete(streamId)
    const last: StreamSnapshot = { ...stream, status: 'stopped', endedReason: 'stopped' }
    model.emit('stream.changed', request === undefined ? last : { ...last, request })
    return last
  },
  'stream.read': (model, { streamIds }) => ({ streams: streamIds.flatMap(id => model.streams.get(id) ?? []) }),
  'recording.start': (model, { recordingId, target }) => {
    if (!model.isHere(target)) return notFound(recordingId)
    if (model.recordings.has(recordingId)) return conflict('is being recorded already')
    if (model.recorded.has(recordingId)) return { failure: 'ended', message: 'it has ended' }
    model.recordings.add(recordingId)
    return {}
  },
  'recording.pause': recording,
  'recording.resume': recording,
  'recording.stop': (model, { recordingId }) => {
    if (!model.recordings.delete(recordingId)) return notFound(recordingId)
    model.recorded.add(recordingId)
    model.emit('recording.ready', { ...RECORDED, recordingId, file: `${recordingId}.wav` })
    return {}
  },
  'transcript.start': (model, { transcriptId, target }) => (model.isHere(target) ? {} : notFound(transcriptId)),
  'transcript.stop': () => ({}),
  'sip.register_check': (_model, { ha1 }) => ({ isRight: ha1 !== null }),
  'sip.register_reply': () => ({}),
  'sip.keep_open': () => ({}),
  'sip.ask_check': (_model, { ha1 }) => ({ isRight: ha1 !== null }),
  'sip.ask_reply': (_model, { askId, sipCode }) => ({ subscriptionId: sipCode === 200 ? `sub_${askId}` : null }),
  'sip.notify': () => ({}),
  'sip.subscriptions': () => ({ subscriptions: [] }),
  'sip.message': () => ({}),
  'connections.set': () => ({}),
  'sources.set': () => ({}),
  'sip.trace_read': (model, { legId }) => ({ trace: model.legs.has(legId) ? { legId, ...NO_TRACE } : null }),
  'sip.trace_take': () => ({ traces: [] }),
  'browser.close': (model, body) => {
    const reply = browser(model, body)
    model.closedBrowsers.add(body.browserId)
    return reply
  },
  'browser.refuse': browser,
  'browser.admit': (model, body) => {
    const reply = browser(model, body)
    if (!('failure' in reply)) model.emit('browser.connected', { browserId: body.browserId, goesOn: null })
    return reply
  },
  'browser.send': browser,
  'media.snapshot': model => model.snapshot(),
  'speech.speak': () => ({ samples: '' }),
  'media.stats': () => ({ counters: {}, gauges: {}, histograms: {} }),
}

const FULL: Failure = { failure: 'capacity', message: 'no call capacity right now' }

/** Commands that media's main thread answers without an engine. */
const WITHOUT_ENGINE: ReadonlySet<CommandName> = new Set([
  'leg.ring',
  'leg.reject',
  'leg.challenge',
  'leg.pass_on',
  'leg.check_caller',
  'leg.reserve',
  'leg.release',
  'leg.redirect_answer',
  'leg.hangup',
  'leg.read',
  'sip.register_check',
  'sip.register_reply',
  'sip.keep_open',
  'sip.ask_check',
  'sip.ask_reply',
  'sip.notify',
  'sip.subscriptions',
  'sip.message',
  'connections.set',
  'sources.set',
  'sip.trace_read',
  'sip.trace_take',
  'browser.close',
  'browser.refuse',
  'browser.admit',
  'browser.send',
  'media.stats',
])

/**
 * The only double of media: it keeps legs, rooms, pauses and streams as the real one does, and emits its events. `test/media/contract.test.ts` runs
 * the same tests against both.
 */
export class MediaDouble extends MediaModel {
  maxCalls = Number.POSITIVE_INFINITY
  /** The engine carries out commands, but its replies come too late. */
  isSilent = false

  /** Carries out a command. */
  carryOut<N extends CommandName>(name: N, body: Request<N>): Reply<N> | Failure {
    // Media dials nobody unless the engine has made the audio half of the leg, and keeps nothing of the attempt.
    if (this.isSilent && name === 'leg.dial') return { ...LATE, failure: 'unavailable' }
    if (this.isSilent && name === 'leg.answer') this.hangUp((body as Request<'leg.answer'>).legId, 'internal_error')
    const reply = (COMMANDS[name as OwnCommandName] as unknown as Handler<N>)(this, body)
    if (!this.isSilent || WITHOUT_ENGINE.has(name)) return reply
    return isFailure(reply) && name !== 'leg.answer' ? reply : LATE
  }
}
