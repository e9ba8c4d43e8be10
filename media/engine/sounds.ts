import type { EventName, Events, LegSound } from '../protocol.ts'
import { ActiveSpeaker } from '../rooms/active-speaker.ts'
import { Annex } from '../rooms/annex.ts'
import { GuestLeg } from '../rooms/guest-leg.ts'
import { LEG_SAMPLES, type Leg } from '../rooms/leg.ts'
import type { Room } from '../rooms/room.ts'
import { AS_IT_CAME, isAsItCame, Sound, type SoundSettings, type SoundTools } from '../rooms/sound.ts'

/** The owner of the audio. */
interface Party {
  readonly leg: Leg
  readonly room: Room | null
}

/**
 * Audio processing for the legs of one engine thread: by a leg's own settings, else by its room's. Without settings
 * there is no cost.
 */
export class Sounds {
  readonly #tools: SoundTools
  readonly #emit: <N extends EventName>(name: N, body: Events[N]) => void
  /** The leg's own settings. */
  readonly #own = new WeakMap<Leg, LegSound>()
  readonly #rooms = new WeakMap<Room, ActiveSpeaker>()

  constructor(tools: SoundTools, emit: <N extends EventName>(name: N, body: Events[N]) => void) {
    this.#tools = tools
    this.#emit = emit
  }

  /** Sets one leg's processing, wherever it goes. null: the room's setting; absent: unchanged. */
  change(party: Party, sound: LegSound): void {
    this.#own.set(party.leg, { ...this.#own.get(party.leg), ...sound })
    this.#apply(party)
  }

  /** The party has moved to another room, or to none. The first setting that a member brings applies to everybody in the room. */
  moved(party: Party, room?: LegSound): void {
    if (party.room !== null && room !== undefined && party.room.sound === null) {
      party.room.sound = room
      for (const leg of party.room.legs) this.#apply({ leg, room: party.room })
    } else this.#apply(party)
  }

  #apply({ leg, room }: Party): void {
    if (leg instanceof GuestLeg) {
      // A leg's audio is processed on its own thread, which reports whether it speaks.
      if (room?.spec.kind === 'conference') this.#watch(room)
      return
    }
    const settings = settingsOf(this.#own.get(leg), room?.sound)
    if (leg.sound === null && isAsItCame(settings)) return
    leg.sound ??= new Sound(LEG_SAMPLES, this.#tools, isSpeaking =>
      this.#emit('leg.speaking', { legId: leg.id, isSpeaking }),
    )
    leg.sound.set(settings)
    if (settings.speechEvents && room?.spec.kind === 'conference' && !(room instanceof Annex)) this.#watch(room)
  }

  /** Only on the room's own thread. */
  #watch(room: Room): void {
    if (this.#rooms.has(room)) return
    const { roomId } = room.spec
    const speaker = new ActiveSpeaker(room, legId => this.#emit('room.active_speaker', { roomId, legId }))
    this.#rooms.set(room, speaker)
    room.taps.push(speaker)
  }
}

const settingsOf = (own: LegSound = {}, room: LegSound | null = null): SoundSettings => ({
  gainDb: own.gainDb ?? room?.gainDb ?? AS_IT_CAME.gainDb,
  autoGain: own.autoGain ?? room?.autoGain ?? AS_IT_CAME.autoGain,
  noiseSuppression: own.noiseSuppression ?? room?.noiseSuppression ?? AS_IT_CAME.noiseSuppression,
  speechEvents: own.speechEvents ?? room?.speechEvents ?? AS_IT_CAME.speechEvents,
})
