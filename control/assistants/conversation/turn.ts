import { type TurnTiming, UNTIMED } from '../../calls/programs/step-schema.ts'
import type { FlowValue } from '../../flows/engine/graph.ts'
import type { ProgramInput } from '../input.ts'
import { heardPart } from './sentences.ts'

/** A sentence on its way to the caller. */
interface Line {
  text: string
  /** How much of it was heard; null: it has not ended. */
  heard: { whole: boolean; ms: number } | null
}

/** What follows once the last word of a turn has been heard. */
export type AfterTurn =
  | { kind: 'end'; reason: string }
  /** `payment`: the amount, if the call goes to the payment line and comes back. */
  | { kind: 'hand_over'; name: string; payment?: Record<string, FlowValue> }

/** The state of a turn that survives the process: what was sent, how far it was heard, and what follows. */
export interface StoredTurn {
  readonly number: number
  readonly source: 'ai' | 'script'
  readonly lines: Line[]
  after: AfterTurn | null
}

/** The text of a turn that was sent to be spoken, heard or not. */
export const textOf = ({ lines }: StoredTurn): string => lines.map(({ text }) => text).join(' ')

/** The caller's last utterance: its end by media's clock [ms], and how long each part has taken so far. */
export interface Heard {
  endedClockMs: number
  timing: TurnTiming
}

/** The assistant's answer to the caller: its sentences, how far they were heard, and all durations. */
export class Turn {
  /** Not a copy, so that every commit includes what has been heard by then: media reports that only once. */
  readonly stored: StoredTurn
  readonly abort = new AbortController()
  readonly timing: TurnTiming
  /** When the caller's utterance that it answers ended, by media's clock [ms]; null: it answers none. */
  readonly answersTo: number | null
  /** The caller's voice or a key has interrupted it. */
  isTalkedOver = false
  /** It is complete: nothing more will be added. */
  isMade = false
  /** It could not be generated. */
  isFailed = false
  isInterrupted = false

  constructor(number: number, source: 'ai' | 'script', caller: Heard | null) {
    this.stored = { number, source, lines: [], after: null }
    this.answersTo = caller?.endedClockMs ?? null
    this.timing = { ...(caller?.timing ?? UNTIMED) }
  }

  /** A turn that was being spoken when the process died, from what is stored of it. */
  static restored(stored: StoredTurn): Turn {
    const turn = new Turn(stored.number, stored.source, null)
    turn.stored.lines.push(...stored.lines)
    turn.after = stored.after
    turn.isMade = true
    return turn
  }

  get number(): number {
    return this.stored.number
  }

  get source(): 'ai' | 'script' {
    return this.stored.source
  }

  get after(): AfterTurn | null {
    return this.stored.after
  }

  set after(after: AfterTurn | null) {
    this.stored.after = after
  }

  get #lines(): Line[] {
    return this.stored.lines
  }

  #playId(line: number): string {
    return `turn-${this.number}-${line}`
  }

  /** Adds a sentence; returns the `playId` for it. */
  add(text: string): string {
    this.#lines.push({ text, heard: null })
    return this.#playId(this.#lines.length - 1)
  }

  get isSilent(): boolean {
    return this.#lines.length === 0
  }

  /** No report about it has come: nothing was sent yet, or it is still to be heard. */
  get isUntold(): boolean {
    return this.#lines.every(line => line.heard === null)
  }

  /** Everything that was sent has been heard, or will not be. */
  get isHeard(): boolean {
    return this.#lines.every(line => line.heard !== null)
  }

  /** Some sentence was not heard to its end. */
  get isCut(): boolean {
    return this.#lines.some(({ heard }) => heard?.whole === false)
  }

  /** Handles media's reports about its sentences. */
  note(input: ProgramInput & { kind: 'played' | 'play_started' }): void {
    const line = this.#lines.find((_, index) => this.#playId(index) === input.playId)
    if (line === undefined) return
    if (input.kind === 'played') {
      line.heard ??= { whole: input.ended === 'played', ms: input.heardMs }
      this.isTalkedOver ||= input.ended === 'interrupted'
    } else if (this.answersTo !== null) {
      this.timing.first_audio_ms ??= Math.max(0, input.clockMs - this.answersTo)
    }
  }

  /** Marks sentences as unheard: the one that could not be played, or all whose end was not reported. */
  giveUp(playId?: string): void {
    for (const [index, line] of this.#lines.entries()) {
      if (playId === undefined || this.#playId(index) === playId) line.heard ??= { whole: false, ms: 0 }
    }
  }

  /** The part that the caller has heard, as text. */
  get heardText(): string {
    const parts = this.#lines.map(({ text, heard }) =>
      heard === null ? '' : heard.whole ? text : heardPart(text, heard.ms),
    )
    return parts.filter(part => part !== '').join(' ')
  }

  get heardMs(): number {
    return this.#lines.reduce((sum, { heard }) => sum + (heard?.ms ?? 0), 0)
  }
}
