import type { AnsweringSpec, RoomCapture } from '../protocol.ts'
import type { Leg } from '../rooms/leg.ts'
import type { SinkKind, SinkNoun, SinkWorld } from '../sinks/sink-kind.ts'
import { AnswerSink } from './answer-sink.ts'

/** Answering machine detection on an engine thread: it starts with the leg's room, and hears the leg wherever that goes. */
class Answering implements SinkKind {
  readonly commands = {}
  readonly #world: SinkWorld
  readonly #running = new Map<string, AnswerSink>()

  constructor(world: SinkWorld) {
    this.#world = world
  }

  begin(_roomId: string, { answering }: RoomCapture): void {
    if (answering !== undefined) this.#begin(answering)
  }

  #begin(spec: AnsweringSpec): void {
    const { legId } = spec
    const sinks = this.#world.sinksOf({ legId })
    if (sinks === null || this.#running.has(legId)) return
    const sink = new AnswerSink(spec, this.#world.createVoiceDetector(), {
      answered: ({ answeredBy, cause, ms }) => this.#world.emit('leg.answered_by', { legId, answeredBy, cause, ms }),
      ended: (ended, ms) => this.#world.emit('leg.message_ended', { legId, ended, ms }),
    })
    this.#running.set(legId, sink)
    sinks.push(sink)
  }

  closed({ id }: Leg): void {
    this.#running.get(id)?.close()
    this.#running.delete(id)
  }

  stats(): { counters: Record<string, number>; gauges: Record<string, number> } {
    let listening = 0
    for (const sink of this.#running.values()) if (!sink.isDone) listening++
    return { counters: {}, gauges: { answersListenedFor: listening } }
  }
}

export const answering: SinkNoun = { create: world => new Answering(world) }
