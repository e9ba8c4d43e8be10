import type { EventName, Events, LegSound } from '../protocol.ts'
import { ActiveSpeaker } from '../rooms/active-speaker.ts'
import { Annex } from '../rooms/annex.ts'
import { GuestLeg } from '../rooms/guest-leg.ts'
import { LEG_SAMPLES, type Leg } from '../rooms/leg.ts'
import type { Room } from '../rooms/room.ts'
import { AS_IT_CAME, isAsItCame, Sound, type SoundSettings, type SoundTools } from '../rooms/sound.ts'

/** Whose audio it is. */
interface Party {
  readonly leg: Leg
  readonly room: Room | null
}

/**
 * What is done with the audio of the legs of one engine thread: as each says of itself, else as its room does. Where nothing is wanted
 * there is nothing that could cost.
 */
export class Sounds {
  readonly #tools: SoundTools
  readonly #emit: <N extends EventName>(name: N, body: Events[N]) => void
  /** What was said of a leg itself. */
  readonly #own = new WeakMap<Leg, LegSound>()
  readonly #rooms = new WeakMap<Room, ActiveSpeaker>()

  constructor(tools: SoundTools, emit: <N extends EventName>(name: N, body: Events[N]) => void) {
    this.#tools = tools
    this.#emit = emit
  }

  /** What is to be done with one leg, wherever it goes; null: as its room says, absent: as before. */
  change(party: Party, sound: LegSound): void {
    this.#own.set(party.leg, { ...this.#own.get(party.leg), ...sound })
    this.#apply(party)
  }

  /** It is in another room, or in none. What the first one brings who says anything is what all in the room have. */
  moved(party: Party, room?: LegSound): void {
    if (party.room !== null && room !== undefined && party.room.sound === null) {
      party.room.sound = room
      for (const leg of party.room.legs) this.#apply({ leg, room: party.room })
    } else this.#apply(party)
  }

  #apply({ leg, room }: Party): void {
    if (leg instanceof GuestLeg) {
      // What is done with its audio is done on its own thread, which tells whether it speaks.
      if (room?.spec.kind === 'conference') this.#watch(room)
      return
    }
    const settings = settingsOf(this.#own.get(leg), room?.sound)
    if (isAsItCame(settings)) {
      leg.sound?.close()
      leg.sound = null
      return
    }
    leg.sound ??= new Sound(LEG_SAMPLES, this.#tools, isSpeaking =>
      this.#emit('leg.speaking', { legId: leg.id, isSpeaking }),
    )
    leg.sound.set(settings)
    if (settings.speechEvents && room?.spec.kind === 'conference' && !(room instanceof Annex)) this.#watch(room)
  }

  /** On the room's own thread alone. */
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
