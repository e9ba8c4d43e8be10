import { PASSED, PauseBoard } from '../../rooms/pause-board.ts'
import type { Room, RoomPause } from '../../rooms/room.ts'

/** In a room with members on several threads, a pause ends this much later, because audio spoken in it is still in transit [ms]. */
const LINGER_MS = 60

/** Which of the engine threads this is. */
export interface ThreadPlace {
  index: number
  count: number
  /** How far its clock is behind the common one; absent: not at all [ms]. */
  clockMs?: number
}

/** Converts another thread's words from the common clock to its own. */
export const byClockOf = <W extends { startMs: number; endMs: number }>(words: W, aheadMs: number): W => ({
  ...words,
  startMs: words.startMs + aheadMs,
  endMs: words.endMs + aheadMs,
})

interface Span {
  board: PauseBoard
  /** When a pause that has ended elsewhere ends here; null: no such pause. */
  endsAt: number | null
}

/** For a thread's rooms with members on several threads: reserved places, and pauses shared by all of them. */
export class Spans {
  readonly #place: ThreadPlace
  readonly #now: () => number
  readonly #spans = new Map<Room, Span>()
  /** Legs of other threads that are about to enter a room. */
  readonly #reserved = new Map<string, { roomId: string; board: PauseBoard }>()

  constructor(place: ThreadPlace, now: () => number) {
    this.#place = place
    this.#now = now
  }

  /** @param room undefined: the leg will open it. @returns the memory that its threads share */
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

  /** The reserved place in this room is taken. */
  take(legId: string, room: Room): void {
    const board = this.#reserved.get(legId)?.board ?? this.#boardToCome(room.spec.roomId)
    this.#reserved.delete(legId)
    if (!this.#spans.has(room)) this.#spread(room, board)
  }

  /** A local part of a room on another thread. */
  join(room: Room, board: SharedArrayBuffer): void {
    this.#spread(room, new PauseBoard(board, this.#place.index))
  }

  #spread(room: Room, board: PauseBoard): void {
    this.#spans.set(room, { board, endsAt: null })
    room.isSpread = true
  }

  /**
   * Nobody else takes back the pauses of a thread that has died.
   *
   * @param rooms those of this thread. Of others' rooms their own threads do it: the next one in the place of the dead may have written there by now,
   * which it can in ours only after this
   */
  threadDied(thread: number, rooms: Iterable<Room>): void {
    for (const room of rooms) this.#spans.get(room)?.board.erase(thread)
    for (const { board } of this.#reserved.values()) board.erase(thread)
  }

  close(room: Room): void {
    this.#spans.get(room)?.board.write(null)
    this.#spans.delete(room)
  }

  /** Whether `pauseOf` may have changed, by another thread or by the time. */
  isDue(room: Room): boolean {
    const span = this.#spans.size === 0 ? undefined : this.#spans.get(room)
    if (span === undefined) return false
    return span.board.hasChanged || (span.endsAt !== null && this.#now() >= span.endsAt)
  }

  /** @param own the pause of the room as this thread knows it */
  pauseOf(room: Room, own: RoomPause | null): RoomPause | null {
    const span = this.#spans.get(room)
    if (span === undefined) return own
    span.board.write(own)
    const all = span.board.read()
    if (all === PASSED) {
      span.endsAt = this.#now() + LINGER_MS
      return all
    }
    if (all !== null || room.pause === null) {
      span.endsAt = null
      return all
    }
    span.endsAt ??= this.#now() + LINGER_MS
    return this.#now() >= span.endsAt ? null : room.pause
  }
}
