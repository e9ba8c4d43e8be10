import type { Frame } from '../../codecs/audio.ts'
import { FRAME_MS } from '../../codecs/audio.ts'
import type { Events, PlaySource } from '../protocol.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { Source } from '../rooms/source.ts'
import { piecesOf } from '../speech/hearing/sentences.ts'
import type { SpeechOwner } from '../speech/speech-engines.ts'
import { type Clip, type ClipWatcher, Player } from './player.ts'
import type { Prompts } from './prompts.ts'

/** Plays that may wait behind the one that is heard; a further one is refused. */
const MAX_WAITING_PLAYS = 100
/** Sentences that are made ahead of the one that is heard: enough for no gap, few enough that little is made for nothing. */
const SENTENCES_AHEAD = 2
/** Less than the deadline that control has for a command [frames]. */
const PATIENCE_FRAMES = 3000 / FRAME_MS

export type PlayEnded = Events['play.finished']['ended']

export interface PlayHooks {
  /** The first frame is on its way. */
  started?(): void
  /** Exactly once. `heardMs`: how much of it was sent. */
  finished(ended: PlayEnded, heardMs: number): void
}

/** One list of sources that is played to a leg. */
interface Play {
  /** What is still to be loaded, in order; what is at hand already is a clip. */
  parts: (PlaySource | Clip)[]
  player: Player
  hooks: PlayHooks
  frames: number
  loading: boolean
  /** Tells who asked for it that it is on its way; null: was told. */
  accept: (() => void) | null
  /** For how long it was not [frames]. */
  waited: number
  /** A part could not be made; it ends once what was made is heard. */
  failed: boolean
  over: boolean
}

/**
 * What is heard by one leg alone: lists of sources, one after the other. Speech is made sentence by sentence while it is heard, so
 * that its first sound comes early. While paused it is silent and keeps its place to the sample.
 */
export class LegPlayback implements Source {
  readonly #prompts: Prompts
  readonly #owner: () => SpeechOwner
  readonly #watcher: ClipWatcher
  readonly #hearer: { player: Source | null }
  /** The first is heard. */
  readonly #plays: Play[] = []
  #isPaused = false

  /** @param owner for whom speech is made @param hearer has us as its player while something plays */
  constructor(prompts: Prompts, owner: () => SpeechOwner, watcher: ClipWatcher, hearer: { player: Source | null }) {
    this.#hearer = hearer
    this.#prompts = prompts
    this.#owner = owner
    this.#watcher = watcher
  }

  get playing(): boolean {
    return this.#plays.length > 0
  }

  get paused(): boolean {
    return this.#isPaused
  }

  /**
   * Loads and plays; takes the place of all that plays, or waits behind it with `append`. Resolves when its first sound is at hand,
   * or with an error when it cannot be: then nothing of it is played and `finished` is not called. A voice that takes long does not
   * hold up who asked: after three seconds it is taken as played, and its failure is one of `finished`.
   */
  async play(
    sources: PlaySource[],
    options: { loop: boolean; append?: boolean },
    hooks: PlayHooks,
  ): Promise<{ error: string } | null> {
    if (options.append !== true) this.stop()
    else if (this.#plays.length > MAX_WAITING_PLAYS) return { error: 'too many plays wait' }
    const play: Play = {
      parts: sources.flatMap(piecesOf),
      player: new Player([], { loop: options.loop, frameSamples: LEG_SAMPLES, open: true, watcher: this.#watcher }),
      hooks,
      frames: 0,
      loading: true,
      accept: null,
      waited: 0,
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
    // Whoever was told that it plays is told that it does not.
    if (play.accept === null) end(play, 'failed')
    play.over = true
    return problem
  }

  /** Everything but speech, so that a bad name is an error before the first sound. */
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

  /** Adds what is at hand, or the next sentence. */
  async #loadNext(play: Play): Promise<{ error: string } | null> {
    if (addClips(play) || play.parts.length === 0 || play.over) return null
    const clip = await this.#prompts.load(play.parts.shift() as PlaySource, this.#owner())
    if ('error' in clip) return clip
    play.player.add(clip)
    return null
  }

  /** Gives the player what it is to have by now: all files, and speech a little ahead of what is heard. */
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

  /** Ends all, what waits too: each is `interrupted`. */
  stop(): void {
    this.#isPaused = false
    const plays = this.#plays.splice(0)
    this.#fallSilent()
    for (const play of plays) end(play, 'interrupted')
  }

  /** Who hears nothing is not asked in each tick. */
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
        if (play.frames++ === 0) play.hooks.started?.()
        if (wantsMore(play)) void this.#fill(play)
        return frame
      }
      if (!play.player.ended) return null
      this.#plays.shift()
      this.#fallSilent()
      end(play, play.failed ? 'failed' : 'played')
      // Its end may have begun another play, or a pause.
      if (this.#isPaused) return null
    }
    return null
  }
}

const wantsMore = ({ parts, player }: Play): boolean => parts.length > 0 && player.waiting < SENTENCES_AHEAD

/** Moves what is at hand to the player; whether there was something. */
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
