import { PauseBoard } from '../../rooms/pause-board.ts'
import type { Room, RoomPause } from '../../rooms/room.ts'

/** A pause ends so much later in a room whose members are on several threads: what was said in it is still on its way [ms]. */
const LINGER_MS = 60

/** Which of the engine threads this is. */
export interface ThreadPlace {
  index: number
  count: number
  /** What its clock is behind the one that all threads have; absent: nothing [ms]. */
  clockMs?: number
}

/** Words as another thread tells of them: by the clock of all, and by its own. */
export const byClockOf = <W extends { startMs: number; endMs: number }>(words: W, aheadMs: number): W => ({
  ...words,
  startMs: words.startMs + aheadMs,
  endMs: words.endMs + aheadMs,
})

interface Span {
  board: PauseBoard
  /** When a pause that is over for all ends here; null: none is. */
  endsAt: number | null
}

/** What the rooms of a thread need whose members are on several: places that are kept for who comes, and pauses that all know of. */
export class Spans {
  readonly #place: ThreadPlace
  readonly #now: () => number
  readonly #spans = new Map<Room, Span>()
  /** Who of another thread is about to enter which room. */
  readonly #reserved = new Map<string, { roomId: string; board: PauseBoard }>()

  constructor(place: ThreadPlace, now: () => number) {
    this.#place = place
    this.#now = now
  }

  /** @param room undefined: it opens with who comes. @returns what its threads share */
  reserve(legId: string, roomId: string, room: Room | undefined): SharedArrayBuffer {
    const board = (room === undefined ? undefined : this.#spans.get(room)?.board) ?? this.#boardToCome(roomId)
    this.#reserved.set(legId, { roomId, board })
    return board.memory
  }

  #boardToCome(roomId: string): PauseBoard {
    for (const reserved of this.#reserved.values()) if (reserved.roomId === roomId) return reserved.board
    return new PauseBoard(PauseBoard.memoryFor(this.#place.count), this.#place.index)
  }

  isKept(legId: string): boolean {
    return this.#reserved.has(legId)
  }

  placesIn(roomId: string): number {
    let places = 0
    for (const reserved of this.#reserved.values()) if (reserved.roomId === roomId) places++
    return places
  }

  /** @returns the room that it was to enter */
  giveUp(legId: string): string | undefined {
    const roomId = this.#reserved.get(legId)?.roomId
    this.#reserved.delete(legId)
    return roomId
  }

  /** The place that was kept in this room is taken. */
  take(legId: string, room: Room): void {
    const board = this.#reserved.get(legId)?.board ?? this.#boardToCome(room.spec.roomId)
    this.#reserved.delete(legId)
    if (!this.#spans.has(room)) this.#spread(room, board)
  }

  /** A part here of a room of another thread. */
  join(room: Room, board: SharedArrayBuffer): void {
    this.#spread(room, new PauseBoard(board, this.#place.index))
  }

  #spread(room: Room, board: PauseBoard): void {
    this.#spans.set(room, { board, endsAt: null })
    room.isSpread = true
  }

  close(room: Room): void {
    this.#spans.get(room)?.board.write(null)
    this.#spans.delete(room)
  }

  /** Whether `pauseOf` may have changed by another thread, or by the time. */
  isDue(room: Room): boolean {
    const span = this.#spans.size === 0 ? undefined : this.#spans.get(room)
    if (span === undefined) return false
    return span.board.hasChanged || (span.endsAt !== null && this.#now() >= span.endsAt)
  }

  /** @param own what this thread knows of a pause of the room */
  pauseOf(room: Room, own: RoomPause | null): RoomPause | null {
    const span = this.#spans.get(room)
    if (span === undefined) return own
    span.board.write(own)
    const all = span.board.read()
    if (all !== null || room.pause === null) {
      span.endsAt = null
      return all
    }
    span.endsAt ??= this.#now() + LINGER_MS
    return this.#now() >= span.endsAt ? null : room.pause
  }
}
