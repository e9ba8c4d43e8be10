import type { Frame } from '../../codecs/audio.ts'
import { FRAME_MS } from '../../codecs/audio.ts'
import type { Events, PlaySource } from '../protocol.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { Source } from '../rooms/source.ts'
import { piecesOf } from '../speech/hearing/sentences.ts'
import type { SpeechOwner } from '../speech/speech-engines.ts'
import { type Clip, type ClipWatcher, Player } from './player.ts'
import type { Prompts } from './prompts.ts'

/** Plays that may wait behind the current one; a further one is refused. */
const MAX_WAITING_PLAYS = 100
/** Sentences synthesised ahead of the current one: enough to avoid gaps, few enough to waste little. */
const SENTENCES_AHEAD = 2
/** Shorter than control's deadline for a command [frames]. */
const PATIENCE_FRAMES = 3000 / FRAME_MS

export type PlayEnded = Events['play.finished']['ended']

export interface PlayHooks {
  /** The first frame is being sent. */
  started?(): void
  /** Called exactly once. `heardMs`: how much was sent. */
  finished(ended: PlayEnded, heardMs: number): void
}

/** A list of sources played to a leg. */
interface Play {
  /** Parts that remain to be loaded, in order; a loaded one is a clip. */
  parts: (PlaySource | Clip)[]
  player: Player
  /** The loop that it plays, if it is to resume at its place; null: it starts over. */
  loop: string | null
  hooks: PlayHooks
  frames: number
  loading: boolean
  /** Tells the requester that playback has begun; null: it was told. */
  accept: (() => void) | null
  /** How long it has not begun [frames]. */
  waited: number
  /** It is for who is alone in its room. */
  whileAlone: boolean
  /** A part could not be made; the play ends when the parts before it were heard. */
  failed: boolean
  over: boolean
}

/**
 * Audio for one leg only: lists of sources, one after the other. Speech is synthesised sentence by sentence during playback, so
 * that it starts early. While paused it is silent and keeps its position to the sample.
 */
export class LegPlayback implements Source {
  readonly #prompts: Prompts
  readonly #owner: () => SpeechOwner
  readonly #watcher: ClipWatcher
  readonly #hearer: { player: Source | null }
  /** The first one is playing. */
  readonly #plays: Play[] = []
  /** A loop that was interrupted, for example by an announcement, and where it stood [samples]. */
  #left: { loop: string; at: number } | null = null
  #isPaused = false
  #heard: Player | null = null

  /** @param owner whose turn the synthesis uses @param hearer has this as its player while something plays */
  constructor(prompts: Prompts, owner: () => SpeechOwner, watcher: ClipWatcher, hearer: { player: Source | null }) {
    this.#hearer = hearer
    this.#prompts = prompts
    this.#owner = owner
    this.#watcher = watcher
  }

  get playing(): boolean {
    return this.#plays.length > 0
  }

  get part(): Player | null {
    return this.#heard
  }

  get paused(): boolean {
    return this.#isPaused
  }

  /**
   * Loads and plays. Replaces everything that plays, or queues behind it with `append`. Resolves when the first audio is available, or
   * with an error if it cannot be: then nothing is played and `finished` is not called. A slow voice does not block the requester: after
   * three seconds the play counts as accepted, and a later failure is reported by `finished`.
   */
  async play(
    sources: PlaySource[],
    options: { loop: boolean; append?: boolean; whileAlone?: boolean },
    hooks: PlayHooks,
  ): Promise<{ error: string } | null> {
    if (options.append !== true) this.stop()
    else if (this.#plays.length > MAX_WAITING_PLAYS) return { error: 'too many plays wait' }
    const loop = options.loop ? placeKeeping(sources) : null
    const from = loop !== null && loop === this.#left?.loop ? this.#left.at : 0
    const ofPlay = { loop: options.loop, frameSamples: LEG_SAMPLES, open: true, from, watcher: this.#watcher }
    const play: Play = {
      parts: sources.flatMap(piecesOf),
      player: new Player([], ofPlay),
      loop,
      hooks,
      frames: 0,
      loading: true,
      accept: null,
      waited: 0,
      whileAlone: options.whileAlone === true,
      failed: false,
      over: false,
    }
    this.#plays.push(play)
    this.#hearer.player = this
    const patience = new Promise<null>(resolve => {
      play.accept = () => resolve(null)
    })
    return Promise.race([this.#begin(play), patience])
  }

  async #begin(play: Play): Promise<{ error: string } | null> {
    const problem = (await this.#loadFiles(play)) ?? (await this.#loadNext(play))
    play.loading = false
    if (play.over) return null
    if (problem === null) {
      play.accept = null
      void this.#fill(play)
      return null
    }
    this.#plays.splice(this.#plays.indexOf(play), 1)
    this.#fallSilent()
    // A requester that was told of the beginning is told of the failure.
    if (play.accept === null) end(play, 'failed')
    play.over = true
    return problem
  }

  /** Loads everything but speech, so that a bad name is an error before the first sound. */
  async #loadFiles(play: Play): Promise<{ error: string } | null> {
    const loaded = await Promise.all(
      play.parts.map(part => ('kind' in part && part.kind !== 'speech' ? this.#prompts.load(part) : part)),
    )
    play.parts = []
    for (const part of loaded) {
      if ('error' in part) return part
      play.parts.push(part)
    }
    return null
  }

  /** Adds loaded parts, or the next sentence. */
  async #loadNext(play: Play): Promise<{ error: string } | null> {
    if (addClips(play) || play.parts.length === 0 || play.over) return null
    const clip = await this.#prompts.load(play.parts.shift() as PlaySource, this.#owner())
    if ('error' in clip) return clip
    play.player.add(clip)
    return null
  }

  /** Gives the player what it should have by now: all files, and speech a little ahead of the playback. */
  async #fill(play: Play): Promise<void> {
    if (play.loading) return
    play.loading = true
    addClips(play)
    while (!play.over && wantsMore(play)) {
      const problem = await this.#loadNext(play)
      addClips(play)
      if (problem === null) continue
      play.failed = true
      play.parts.length = 0
    }
    play.loading = false
    if (play.parts.length === 0) play.player.complete()
  }

  /** Ends everything, queued plays too: each is `interrupted`. */
  stop(): void {
    this.#isPaused = false
    const plays = this.#plays.splice(0)
    this.#fallSilent()
    for (const play of plays) {
      const { loop, player } = play
      if (loop !== null) this.#left = { loop, at: player.at }
      end(play, 'interrupted')
    }
  }

  /** Somebody else is in the room: what is for who is alone is `interrupted`. */
  accompany(): void {
    for (const play of this.#plays.filter(({ whileAlone }) => whileAlone)) {
      this.#plays.splice(this.#plays.indexOf(play), 1)
      this.#fallSilent()
      end(play, 'interrupted')
    }
  }

  /** A leg without playback is not asked in each tick. */
  #fallSilent(): void {
    if (!this.playing) this.#hearer.player = null
  }

  /** Silent from the next frame on, until `resume` or `stop`. */
  pause(): void {
    this.#isPaused = this.playing
  }

  resume(): void {
    this.#isPaused = false
  }

  pull(): Frame | null {
    for (const play of this.#plays) if (play.accept !== null) acceptInTime(play)
    if (this.#isPaused) return null
    for (let play = this.#plays[0]; play !== undefined; play = this.#plays[0]) {
      const frame = play.player.pull()
      if (frame !== null) {
        this.#heard = play.player
        if (play.frames++ === 0) play.hooks.started?.()
        if (wantsMore(play)) void this.#fill(play)
        return frame
      }
      if (!play.player.ended) return null
      this.#plays.shift()
      this.#fallSilent()
      end(play, play.failed ? 'failed' : 'played')
      // Its end may have started another play, or a pause.
      if (this.#isPaused) return null
    }
    return null
  }
}

/** The key of a loop that resumes at its place: otherwise a caller who waits long would hear the same bars of music after each announcement. */
function placeKeeping([source, ...others]: readonly PlaySource[]): string | null {
  const keeps = others.length === 0 && (source?.kind === 'music' || source?.kind === 'file')
  return keeps ? JSON.stringify(source) : null
}

const wantsMore = ({ parts, player }: Play): boolean => parts.length > 0 && player.waiting < SENTENCES_AHEAD

/** Moves loaded parts to the player; returns whether there were any. */
function addClips({ parts, player }: Play): boolean {
  let added = false
  for (let part = parts[0]; part !== undefined && !('kind' in part); part = parts[0]) {
    player.add(part)
    parts.shift()
    added = true
  }
  return added
}

function acceptInTime(play: Play): void {
  if (++play.waited < PATIENCE_FRAMES) return
  play.accept?.()
  play.accept = null
}

function end(play: Play, ended: PlayEnded): void {
  play.over = true
  play.player.stop()
  play.hooks.finished(ended, play.frames * FRAME_MS)
}
