import { loadVoiceDetector } from '../../codecs/voice-activity.ts'
import { SLOTS } from '../../media/clock.ts'
import { Engine, type LegSocket } from '../../media/engine.ts'
import { Prompts } from '../../media/prompts.ts'
import type { EventName, Events, MediaEvent, PlaySource, RoomSpec } from '../../media/protocol.ts'
import type { RtpReceiver } from '../../media/rtp-socket.ts'
import { NO_SPEECH_TO_TEXT, type SpeechToText } from '../../media/speech/speech-engines.ts'
import { StreamDialler } from '../../media/stream-socket.ts'
import { mediaOf, Received, Speaker, seeded } from '../media/party.ts'

const createVoiceDetector = await loadVoiceDetector()

/** A far end of an engine under test. */
export class FarEnd {
  readonly received = new Received()
  readonly speaker: Speaker
  receiver: RtpReceiver | null = null
  closed = false

  constructor(host: string) {
    this.speaker = new Speaker(packet => this.receiver?.rtp(packet, host, 4000))
  }
}

/** An engine on a virtual clock with its sockets in memory; everything else is real. */
export class TestEngine {
  readonly engine: Engine
  readonly events: MediaEvent[] = []
  readonly ends: { legId: string; reason: string }[] = []
  now = 0
  ticks = 0
  clockRuns = false
  readonly prompts = new Prompts({ sampleRateHz: 8000 })
  #opening: FarEnd | null = null

  constructor(dataDir: string, stt: SpeechToText = NO_SPEECH_TO_TEXT) {
    this.engine = new Engine({
      dataDir,
      emit: event => this.events.push(event),
      end: (legId, reason) => this.ends.push({ legId, reason }),
      sendKey: () => {},
      openSocket: async () => (this.#opening === null ? null : socketOf(this.#opening)),
      dialler: new StreamDialler({
        userAgent: 'tandem/test',
        createResampler: () => {
          throw new Error('no stream of this test resamples')
        },
      }),
      prompts: this.prompts,
      hearing: { createVoiceDetector, stt },
      clock: { late: 0, skipped: 0, start: () => (this.clockRuns = true), stop: () => (this.clockRuns = false) },
      now: () => this.now,
      random: seeded(1),
    })
  }

  /** A leg in a room. */
  async join(legId: string, room: Partial<RoomSpec> = {}, options: { telephoneEvent?: boolean } = {}): Promise<FarEnd> {
    const host = `192.0.2.${legId.length}`
    const farEnd = new FarEnd(host)
    this.#opening = farEnd
    await this.engine.open(legId)
    this.#opening = null
    this.engine.connect(legId, mediaOf(host, options), {
      roomId: 'call_room',
      kind: 'call',
      chimes: false,
      musicWhenAlone: false,
      maxMembers: 10,
      ...room,
    })
    return farEnd
  }

  /** Lets ticks of 20 ms pass; `before` runs before each, with the number of the tick. */
  run(ticks: number, before: (tick: number) => void = () => {}): void {
    for (let i = 0; i < ticks; i++) {
      before(this.ticks++)
      this.now += 5
      for (let slot = 0; slot < SLOTS; slot++) this.engine.tick(slot, this.now)
      this.now += 15
    }
  }

  /** The bodies of all events of this name so far. */
  of<N extends EventName>(name: N): Events[N][] {
    return this.events.filter(event => event.name === name).map(event => event.body as Events[N])
  }

  /** Waits until the audio of these sources is loaded, so that playing begins without delay. */
  async preload(...sources: PlaySource[]): Promise<void> {
    await this.prompts.loadAll(sources)
  }

  async close(): Promise<void> {
    await this.engine.shutdown()
    await this.prompts.close()
  }
}

const socketOf = (farEnd: FarEnd): LegSocket => ({
  port: 20_000,
  sendRtp: (bytes, length) => farEnd.received.take(bytes, length),
  sendRtcp: () => {},
  listen: receiver => {
    farEnd.receiver = receiver
  },
  close: () => {
    farEnd.closed = true
  },
})
