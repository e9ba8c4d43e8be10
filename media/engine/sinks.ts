import { answering } from '../answering/answering.ts'
import type { RoomCapture, Target } from '../protocol.ts'
import { recordings } from '../recordings/recordings.ts'
import type { Leg } from '../rooms/leg.ts'
import type { Room } from '../rooms/room.ts'
import type { Party, SinkCommands, SinkKind, SinkNoun, SinkWorld } from '../sinks/sink-kind.ts'
import type { Words } from '../speech/hearing/hearing.ts'
import { streams } from '../streams/streams.ts'
import { transcripts } from '../transcripts/transcript-sinks.ts'

/** Every kind of sink. Add a line here for a new one (CONTRIBUTING, "A sink"). */
export const SINKS: readonly SinkNoun[] = [recordings, streams, transcripts, answering]

/** All sinks on one engine thread, of every kind. */
export class Sinks {
  readonly commands: SinkCommands
  readonly #kinds: readonly SinkKind[]

  constructor(nouns: readonly SinkNoun[], world: Omit<SinkWorld, 'framesOf'>) {
    const framesOf = (target: Target): number | null => this.#framesOf(target)
    this.#kinds = nouns.map(noun => noun.create({ ...world, framesOf }))
    this.commands = Object.assign({}, ...this.#kinds.map(({ commands }) => commands))
  }

  #framesOf(target: Target): number | null {
    for (const kind of this.#kinds) {
      const frames = kind.framesOf?.(target)
      if (frames != null) return frames
    }
    return null
  }

  enter(party: Party, room: Room): void {
    for (const kind of this.#kinds) kind.enter?.(party, room)
  }

  leave(party: Party): void {
    for (const kind of this.#kinds) kind.leave?.(party)
  }

  closed(leg: Leg): void {
    for (const kind of this.#kinds) kind.closed?.(leg)
  }

  follows(leg: Leg): boolean {
    return this.#kinds.some(kind => kind.follows?.(leg) === true)
  }

  roomClosed(roomId: string): void {
    for (const kind of this.#kinds) kind.roomClosed?.(roomId)
  }

  pauseChanged(room: Room): void {
    for (const kind of this.#kinds) kind.pauseChanged?.(room)
  }

  key(legId: string, roomId: string | null, key: string): void {
    for (const kind of this.#kinds) kind.key?.(legId, roomId, key)
  }

  told(legIds: readonly string[], words: Words): void {
    for (const kind of this.#kinds) kind.told?.(legIds, words)
  }

  begin(roomId: string, capture: RoomCapture, by: 'room' | 'party'): void {
    for (const kind of this.#kinds) kind.begin?.(roomId, capture, by)
  }

  snapshot(): object {
    return Object.assign({}, ...this.#kinds.map(kind => kind.snapshot?.()))
  }

  stats(): { counters: Record<string, number>; gauges: Record<string, number> } {
    const all = this.#kinds.map(kind => kind.stats?.())
    return {
      counters: Object.assign({}, ...all.map(stats => stats?.counters)),
      gauges: Object.assign({}, ...all.map(stats => stats?.gauges)),
    }
  }

  async shutdown(): Promise<void> {
    await Promise.all(this.#kinds.map(kind => kind.shutdown?.()))
  }
}
