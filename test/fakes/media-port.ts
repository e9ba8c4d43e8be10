import type { MediaPort } from '../../control/media-link/events.ts'
import type { CommandName, Failure, Target } from '../../media/protocol.ts'
import { MediaDouble } from './media-double.ts'

/** The IDs that a command may name. */
interface About {
  legId?: string | null
  legIds?: string[]
  target?: Target
  roomId?: string
  room?: { roomId: string }
  recordingId?: string
  streamId?: string
  streamIds?: string[]
}

/** A double of media in which everything that a command names exists: for tests of the API's answers, where calls do not matter. */
class WillingDouble extends MediaDouble {
  /** Creates whatever a command names. */
  prepare(name: CommandName, body: About): void {
    if (name === 'leg.dial' || name === 'leg.reserve' || name === 'leg.release') return
    const { legId, legIds = [], target, roomId, room, recordingId, streamId, streamIds = [] } = body
    for (const id of typeof legId === 'string' ? [legId, ...legIds] : legIds) this.#answered(id)
    for (const one of [target, roomId === undefined ? undefined : { roomId }, room]) if (one) this.#target(one)
    if (recordingId !== undefined && name !== 'recording.start') this.recordings.add(recordingId)
    if (name !== 'stream.start') for (const id of streamId ? [streamId] : streamIds) this.#stream(id)
    if (name === 'capture.pause') this.resume(target!, 'command')
    const pause = { maxSeconds: 300, reason: 'payment', maskDtmf: true, destinationLegId: null }
    if (name === 'capture.resume') this.pause({ ...pause, target: target! })
  }

  #answered(legId: string): void {
    if (!this.legs.has(legId)) this.incoming(legId, `call_of_${legId}`)
  }

  #target(target: Target): void {
    if ('legId' in target) this.#answered(target.legId)
    else if (!this.rooms.has(target.roomId)) this.incoming(`leg_of_${target.roomId}`, target.roomId)
  }

  #stream(streamId: string): void {
    const snapshot = {
      streamId,
      status: 'connecting' as const,
      framesSent: 0,
      framesDropped: 0,
      framesReceived: 0,
      framesRefused: 0,
      endedReason: null,
    }
    if (!this.streams.has(streamId)) this.streams.set(streamId, snapshot)
  }
}

type WillingMedia = MediaPort & { state: 'ready'; counters: { eventsLost: number } }

/** A media process in which every command succeeds at once. */
export function willingMedia(): WillingMedia {
  const double = new WillingDouble()
  return {
    state: 'ready',
    counters: { eventsLost: 0 },
    settled: async () => {},
    isEnding: () => false,
    waitingSince: null,
    isDraining: false,
    request: async (name, body) => {
      double.prepare(name, body as About)
      return double.carryOut(name, body)
    },
  }
}

/** A media process that cannot be reached. */
export function absentMedia(): WillingMedia {
  const failure: Failure = { failure: 'unavailable', message: 'no connection' }
  return { ...willingMedia(), request: async () => failure }
}
