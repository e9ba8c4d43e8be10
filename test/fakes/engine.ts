import { readFileSync } from 'node:fs'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { loadNoiseSuppressor } from '../../codecs/noise-suppressor.ts'
import type { CreateResampler } from '../../codecs/resample.ts'
import { type CreateVoiceDetector, loadVoiceDetector } from '../../codecs/voice-activity.ts'
import { Lateness, SLOTS } from '../../media/engine/clock.ts'
import { Engine, type EngineOptions } from '../../media/engine/engine.ts'
import type { LegSocket } from '../../media/engine/legs.ts'
import { Prompts } from '../../media/engine/prompts.ts'
import type { EventName, Events, MediaEvent, PlaySource, RoomSpec } from '../../media/protocol.ts'
import { LEG_SAMPLES } from '../../media/rooms/leg.ts'
import type { RtpReceiver } from '../../media/rtp/rtp-socket.ts'
import type { SinkNoun } from '../../media/sinks/sink-kind.ts'
import { NO_SPEECH_TO_TEXT, type SpeechToText } from '../../media/speech/speech-engines.ts'
import { mediaOf, Received, Speaker, seeded } from '../media/engine/party.ts'
import { EngineGroup, threadsOfTests } from './engine-group.ts'

const realDetector = await loadVoiceDetector()
const createNoiseSuppressor = await loadNoiseSuppressor(
  readFileSync(fileURLToPath(import.meta.resolve('@sapphi-red/speex-preprocess-wasm/speex.wasm'))),
)

/** Longer than a model takes to load on a busy machine. */
const UNTIL_MS = 60_000
/** What takes no longer than this is noticed at once, anything else at the next look [ms]. */
const AT_ONCE_MS = 5
const LOOK_MS = 2

/** A far end of an engine under test. */
export class FarEnd {
  readonly received = new Received()
  readonly speaker: Speaker
  receiver: RtpReceiver | null = null
  /** The slot with whose polls packets of its leg come; null: with each. */
  slot: number | null = null
  closed = false

  constructor(host: string, now: () => number) {
    this.speaker = new Speaker(packet => this.receiver?.rtp(packet, host, 4000, now()))
  }
}

const noResampler = (): never => {
  throw new Error('no stream of this test resamples')
}

/** What an engine of a test gets from outside, such as the threads that several engines share. Absent: its own, and no speech recognition. */
export interface Given {
  prompts?: Prompts
  stt?: SpeechToText
  /** Instead of the real voice detector. */
  createVoiceDetector?: CreateVoiceDetector
  /** Instead of the far ends of `join`. */
  openSocket?: () => Promise<LegSocket | null>
  /** Called with the kind and ID of whatever has ended. */
  over?: (kind: string, id: string) => void
  /** For streams at 16 kHz. */
  createResampler?: CreateResampler
  /** All kinds of sinks, instead of the product's. */
  sinks?: readonly SinkNoun[]
  /** Number of threads; legs are distributed in turn. */
  threads?: number
  /** Called with the leg of whom nothing comes. */
  quiet?: (legId: string) => void
  /** Called with each event, too. */
  emit?: (event: MediaEvent) => void
}

/** Affinity of all legs. */
const AFFINITY = 'org_test:live'

/** An engine on a virtual clock with its sockets in memory; everything else is real. */
export class TestEngine {
  readonly engine: EngineGroup
  /** Options of the first thread. */
  readonly options: EngineOptions
  readonly events: MediaEvent[] = []
  readonly ends: { legId: string; reason: string }[] = []
  readonly faults: { error: unknown; legIds: readonly string[] }[] = []
  now = 0
  ticks = 0
  clockRuns = false
  readonly prompts: Prompts
  #opening: FarEnd | null = null

  readonly #ownsPrompts: boolean

  constructor(dataDir: string, given: Given = {}) {
    const { prompts, stt = NO_SPEECH_TO_TEXT, createVoiceDetector = realDetector } = given
    this.prompts = prompts ?? new Prompts({ sampleRateHz: 8000 })
    this.#ownsPrompts = prompts === undefined
    const random = seeded(1)
    const count = given.threads ?? threadsOfTests.count
    const running = new Set<number>()
    const optionsOf = (index: number): EngineOptions => ({
      dataDir,
      place: { index, count },
      cross: message => this.engine.cross(message),
      emit: event => {
        this.engine.note(event, index)
        this.events.push(event)
        given.emit?.(event)
      },
      over: (kind, id) => given.over?.(kind, id),
      ...(given.sinks !== undefined && { sinks: given.sinks }),
      end: (legId, reason) => this.ends.push({ legId, reason }),
      quiet: legId => given.quiet?.(legId),
      fault: (error, legIds) => this.faults.push({ error, legIds }),
      sendKey: () => {},
      openSocket: given.openSocket ?? (async () => (this.#opening === null ? null : socketOf(this.#opening))),
      userAgent: 'tandem/test',
      createNoiseSuppressor,
      createResampler: given.createResampler ?? noResampler,
      prompts: this.prompts,
      hearing: { createVoiceDetector, stt },
      clock: {
        ...{ slots: 0, behind: 0, late: 0, skipped: 0, lateness: new Lateness() },
        start: () => {
          running.add(index)
          this.clockRuns = true
        },
        stop: () => {
          running.delete(index)
          this.clockRuns = running.size > 0
        },
      },
      now: () => this.now,
      sendErrors: () => 0,
      random,
    })
    this.options = optionsOf(0)
    this.engine = new EngineGroup(count, index => new Engine(index === 0 ? this.options : optionsOf(index)))
  }

  /** Puts a new leg into a room. */
  async join(legId: string, room: Partial<RoomSpec> = {}, options: { telephoneEvent?: boolean } = {}): Promise<FarEnd> {
    const host = `192.0.2.${legId.length}`
    const farEnd = new FarEnd(host, () => this.now)
    this.#opening = farEnd
    await this.engine.do('leg.open', { legId, affinity: AFFINITY, host: '' })
    this.#opening = null
    const enter: RoomSpec = {
      roomId: 'call_room',
      kind: 'call',
      chimes: false,
      musicWhenAlone: false,
      maxMembers: 10,
      ...room,
    }
    this.engine.do('leg.connect', { legId, media: mediaOf(host, options), enter })
    return farEnd
  }

  /** Runs ticks of 20 ms; `before` is called before each, with its number. */
  run(ticks: number, before: (tick: number) => void = () => {}): void {
    for (let i = 0; i < ticks; i++) {
      before(this.ticks++)
      this.now += 5
      for (let slot = 0; slot < SLOTS; slot++) this.engine.tick(slot, this.now)
      this.now += 15
    }
  }

  /** Lets a party say these samples, followed by `silentTicks` of silence; `each` is called after each tick. */
  say(farEnd: FarEnd, samples: Int16Array, silentTicks = 0, each: (tick: number) => void = () => {}): void {
    const frames = Math.ceil(samples.length / LEG_SAMPLES)
    for (let i = 0; i < frames + silentTicks; i++) {
      const frame = new Int16Array(LEG_SAMPLES)
      frame.set(samples.subarray(i * LEG_SAMPLES, (i + 1) * LEG_SAMPLES))
      this.run(1, () => farEnd.speaker.speak(frame, this.now))
      each(i)
    }
  }

  /** Waits for work of other threads, while the virtual clock stands still. It leaves them its core when that takes longer. */
  async until(isTrue: () => boolean): Promise<void> {
    const begun = performance.now()
    while (!isTrue()) {
      const waitedMs = performance.now() - begun
      if (waitedMs > UNTIL_MS) throw new Error(`waited ${UNTIL_MS} ms in vain`)
      await (waitedMs < AT_ONCE_MS ? setImmediate() : setTimeout(LOOK_MS))
    }
  }

  /** The bodies of all events of this name so far. */
  of<N extends EventName>(name: N): Events[N][] {
    return this.events.filter(event => event.name === name).map(event => event.body as Events[N])
  }

  /** Waits until the audio of these sources is loaded, so that playing begins without delay. */
  async preload(...sources: PlaySource[]): Promise<void> {
    await this.prompts.loadAll(sources, { legId: '', callId: null, affinity: AFFINITY })
  }

  async close(): Promise<void> {
    await this.engine.shutdown()
    if (this.#ownsPrompts) await this.prompts.close()
  }
}

export const socketOf = (farEnd: FarEnd): LegSocket => ({
  port: 20_000,
  sendRtp: (bytes, length) => farEnd.received.take(bytes, length),
  sendRtcp: () => {},
  listen: receiver => {
    farEnd.receiver = receiver
  },
  follow: slot => {
    farEnd.slot = slot
  },
  close: () => {
    farEnd.closed = true
  },
})
