import type { Logger } from 'pino'
import type { PlaySource } from '../../../media/protocol.ts'
import { phraseOf, type Speaker } from '../../kernel/phrases.ts'
import type { ProgramInput } from '../input.ts'
import type { Stage } from '../stage.ts'
import type { Turn } from './turn.ts'

/** What is told of interrupted sentences is waited for so long [ms]. */
const SETTLE_MS = 500
/** A listener who says one of these wants us to go on. */
export const BACK_CHANNELS = ['mm-hm', 'mhm', 'uh-huh', 'okay', 'ok', 'yeah', 'yes', 'right', 'i see', 'hmm', 'mm']

export interface SpeakingParts {
  stage: Stage
  log: Logger
  voice: Speaker
}

/** How the sentences of a turn are said, and how they are silenced. */
export class Speaking {
  readonly #parts: SpeakingParts

  constructor(parts: SpeakingParts) {
    this.#parts = parts
  }

  /** Says one more sentence of a turn: at once, or behind those before it. `save` stores it before it is sent. */
  async say(turn: Turn, text: string, save: () => Promise<void>, append = !turn.isSilent): Promise<void> {
    const { voice } = this.#parts
    return this.play(turn, text, [phraseOf(text, voice) ?? { kind: 'speech', text, ...voice }], save, append)
  }

  /** The same for what has been said by others; `text`: the model's part of it. */
  async play(
    turn: Turn,
    text: string,
    sources: PlaySource[],
    save: () => Promise<void>,
    append: boolean,
  ): Promise<void> {
    if (turn.abort.signal.aborted) return
    const { stage, log } = this.#parts
    const playId = turn.add(text)
    await save()
    if (turn.abort.signal.aborted) return
    const play = { legId: stage.legId, playId, sources, loop: false, hangupAfter: null }
    const answer = await stage.request('leg.play', append ? { ...play, append: true } : play)
    if (!('failure' in answer)) return
    log.warn({ callId: stage.call.id, ...answer }, 'a line could not be said')
    turn.giveUp(playId)
    stage.nudge()
  }

  /** The caller talks over it: nothing more is made or said of it, and what was heard of it is known. `keep` gets all other inputs. */
  async silence(turn: Turn, keep: (input: ProgramInput) => void): Promise<void> {
    turn.abort.abort()
    turn.isInterrupted = true
    if (turn.isHeard) return
    const { stage } = this.#parts
    await stage.request('leg.stop_play', { legId: stage.legId })
    await this.settle(turn, keep)
  }

  /** Waits for what media tells of its sentences, shortly. */
  async settle(turn: Turn, keep: (input: ProgramInput) => void): Promise<void> {
    while (!turn.isHeard) {
      const input = await this.#parts.stage.next(SETTLE_MS)
      if (input === null) break
      if (input === 'nudged') continue
      if (input.kind === 'played' || input.kind === 'play_started') turn.note(input)
      else keep(input)
    }
    turn.giveUp()
  }
}
