import Type, { type Static } from 'typebox'
import { command, type Failure, target } from '../../../media/protocol.ts'
import type { SinkKind, SinkNoun, SinkWorld } from '../../../media/sinks/sink-kind.ts'
import { Meter } from './meter.ts'

const meterId = Type.String({ minLength: 1, maxLength: 200 })
const declares = {
  'meter.start': command<Record<string, never>>()('starts', Type.Object({ meterId, target })),
  'meter.stop': command<{ frames: number; peak: number }>()('started', Type.Object({ meterId })),
}

declare module '../../../media/protocol/commands.ts' {
  interface BroughtCommands extends Declares {}
}

type Declares = typeof declares
type Start = Static<(typeof declares)['meter.start']['request']>
type Stop = Static<(typeof declares)['meter.stop']['request']>

/** The meters of one engine thread. */
class Meters implements SinkKind {
  readonly commands = {
    'meter.start': (request: Start) => this.#start(request),
    'meter.stop': (request: Stop) => this.#stop(request),
  }
  readonly #world: SinkWorld
  readonly #running = new Map<string, { meter: Meter; target: Start['target'] }>()

  constructor(world: SinkWorld) {
    this.#world = world
  }

  #start({ meterId, target }: Start): Record<string, never> | Failure {
    const sinks = this.#world.sinksOf(target)
    if (sinks === null) return { failure: 'not_found', message: 'the call is not here' }
    if (this.#running.has(meterId)) return { failure: 'conflict', message: 'a meter with this ID exists' }
    const meter = new Meter()
    sinks.push(meter)
    this.#running.set(meterId, { meter, target })
    return {}
  }

  #stop({ meterId }: Stop): { frames: number; peak: number } | Failure {
    const running = this.#running.get(meterId)
    if (running === undefined) return { failure: 'not_found', message: `no meter ${meterId}` }
    const { meter, target } = running
    const sinks = this.#world.sinksOf(target)
    sinks?.splice(sinks.indexOf(meter), 1)
    this.#drop(meterId)
    return { frames: meter.frames, peak: meter.peak }
  }

  #drop(meterId: string): void {
    this.#running.delete(meterId)
    this.#world.over('meter', meterId)
  }

  /** Nobody is left whose leg it could measure. */
  closed({ id }: { id: string }): void {
    for (const [meterId, { target }] of this.#running) {
      if ('legId' in target && target.legId === id) this.#drop(meterId)
    }
  }

  roomClosed(roomId: string): void {
    for (const [meterId, { target }] of this.#running) {
      if ('roomId' in target && target.roomId === roomId) this.#drop(meterId)
    }
  }
}

export const meters: SinkNoun = { declares, create: world => new Meters(world) }
