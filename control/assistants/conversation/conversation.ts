import type { Logger } from 'pino'
import type { PlaySource } from '../../../media/protocol.ts'
import type { ReplyListener } from '../../flows/engine/model.ts'
import { phraseOf, type Speaker } from '../../kernel/phrases.ts'
import type { ProgramInput } from '../input.ts'
import type { Stage } from '../stage.ts'
import { type StoredTurn, Turn } from './turn.ts'

/** How long reports about interrupted sentences are waited for [ms]. */
const SETTLE_MS = 500
/** Maximum time from the beginning of speech until its words are known [ms]. */
const LONGEST_SPEECH_MS = 30_000
/** Maximum time until a caller who has begun to press keys has finished [ms]. */
const LONGEST_ENTRY_MS = 5000
/** Words by which listeners signal that the speaker may go on. */
export const BACK_CHANNELS = ['mm-hm', 'mhm', 'uh-huh', 'okay', 'ok', 'yeah', 'yes', 'right', 'i see', 'hmm', 'mm']

/** How a conversation listens and what counts as an answer, which differs between assistants and flow nodes. */
export interface Listener<A> {
  /** Speech or keys of the caller are recognised, so there may be an answer. */
  readonly isListening: boolean
  /** An answer interrupts us; otherwise it waits until we have spoken. */
  readonly isInterruptible: boolean
  /** Media listens by `leg.collect`. Keys answer too, and interrupted playback resumes only if it was queued after the last prompt. */
  readonly isCollecting: boolean
  /** The answer in an input; null: the caller did something that is no answer; undefined: the input is not about the caller. */
  answerIn(input: ProgramInput): A | null | undefined
  /** Stores how far the conversation is, before a sentence of this turn is sent. */
  save(turn: StoredTurn): Promise<void>
}

export interface ConversationParts {
  stage: Stage
  log: Logger
  voice: Speaker
}

/** The next event of a conversation. */
type Happening<A> =
  /** Our turn has been heard, as far as it will be. */
  | { kind: 'spoken'; turn: Turn }
  /** `over`: the turn that it has interrupted; null: none. */
  | { kind: 'answered'; answer: A; over: Turn | null }
  /** The caller says nothing, or cannot be heard. */
  | { kind: 'silence' }

/**
 * A spoken conversation, turn by turn. The first sentence is heard while the rest is being generated. Speech of the caller cancels the
 * rest, and only what was heard counts. We have one turn at a time, and a new one replaces the one before.
 */
export class Conversation<A> {
  readonly #parts: ConversationParts
  readonly #listener: Listener<A>
  #turn: Turn | null = null
  /** An answer that came while we may not be interrupted. */
  #waiting: { answer: A; input: ProgramInput } | null = null
  /** Inputs that arrived while reports about interrupted sentences were awaited. */
  readonly #kept: ProgramInput[] = []
  #isCallerSpeaking = false

  constructor(parts: ConversationParts, listener: Listener<A>) {
    this.#parts = parts
    this.#listener = listener
  }

  // ------------------------------------------------------------------ what we say

  /** Begins our turn; the one before is over. */
  begin(turn: Turn): Turn {
    this.#turn = turn
    return turn
  }

  /** Begins our turn after something else was played: what the caller did before it no longer counts. */
  beginAnew(turn: Turn): Turn {
    for (const input of this.#kept.splice(0)) this.#parts.stage.release(input)
    this.#isCallerSpeaking = false
    return this.begin(turn)
  }

  /**
   * Restores the turn that was in progress when the process died, from what is stored of it. Null: nothing of it was or will be heard, so
   * it can be made again.
   */
  async restore(stored: StoredTurn): Promise<Turn | null> {
    const { stage } = this.#parts
    const turn = Turn.restored(stored)
    if (turn.isSilent) return null
    if (stage.resumed?.playing === true) return turn
    const told = (input: ProgramInput) => (isTold(input) ? input : null)
    for (let input = await stage.poll(told); input !== null; input = await stage.poll(told)) turn.note(input)
    if (turn.isUntold) return null
    turn.giveUp()
    return turn
  }

  /** Runs the maker of a turn, while listening continues. Its `say` resolves once the sentence has been sent. */
  make(turn: Turn, maker: (making: ReplyListener) => Promise<void>): void {
    const { stage, log } = this.#parts
    const { timing } = turn
    const begun = performance.now()
    const signal = AbortSignal.any([turn.abort.signal, stage.signal])
    maker({
      say: sentence => this.say(turn, sentence),
      firstToken: () => {
        timing.first_token_ms ??= Math.round(performance.now() - begun)
      },
      model: name => {
        timing.model = name
      },
      tokens: (input, output) => {
        timing.input_tokens = (timing.input_tokens ?? 0) + input
        timing.output_tokens = (timing.output_tokens ?? 0) + output
      },
      signal,
    })
      .catch((error: unknown) => {
        if (signal.aborted) return
        turn.isFailed = true
        log.error({ err: error, callId: stage.call.id }, 'a line could not be made')
      })
      .then(() => {
        turn.isMade = true
        stage.nudge()
      })
  }

  /** Says one more sentence of a turn, after the earlier ones. */
  say(turn: Turn, text: string): Promise<void> {
    const { voice } = this.#parts
    return this.play(turn, text, [phraseOf(text, voice) ?? { kind: 'speech', text, ...voice }])
  }

  /** As `say`, for any sources. `text`: the part of them that counts as the model's words. */
  async play(turn: Turn, text: string, sources: PlaySource[]): Promise<void> {
    if (turn.abort.signal.aborted) return
    const { stage, log } = this.#parts
    const append = this.#listener.isCollecting || !turn.isSilent
    const playId = turn.add(text)
    await this.#listener.save(turn.stored)
    if (turn.abort.signal.aborted) return
    const play = { legId: stage.legId, playId, sources, loop: false, hangupAfter: null }
    const answer = await stage.request('leg.play', append ? { ...play, append: true } : play)
    if (!('failure' in answer)) return
    log.warn({ callId: stage.call.id, ...answer }, 'a line could not be said')
    turn.giveUp(playId)
    stage.nudge()
  }

  /** Interrupts our turn, and returns it with what was heard of it; null: there is none. */
  async silence(): Promise<Turn | null> {
    const turn = this.#turn
    if (turn === null) return null
    turn.abort.abort()
    turn.isInterrupted = true
    if (!turn.isHeard) {
      const { stage } = this.#parts
      await stage.request('leg.stop_play', { legId: stage.legId })
      await this.#settle(turn)
    }
    return this.#close(turn)
  }

  /** Waits briefly for media's reports about the turn's sentences. */
  async #settle(turn: Turn): Promise<void> {
    while (!turn.isHeard) {
      const input = await this.#parts.stage.next(SETTLE_MS)
      if (input === null) break
      if (input === 'nudged') continue
      if (isTold(input)) turn.note(input)
      else this.#keep(input)
    }
    turn.giveUp()
  }

  #keep(input: ProgramInput): void {
    this.#parts.stage.hold(input)
    this.#kept.push(input)
  }

  #close(turn: Turn): Turn {
    const { stage, log } = this.#parts
    this.#turn = null
    turn.timing.heard_ms = turn.heardMs
    turn.timing.interrupted = turn.isInterrupted || turn.isTalkedOver
    log.info({ callId: stage.call.id, turn: turn.number, ...turn.timing }, 'turn')
    return turn
  }

  // ------------------------------------------------------------------ what happens

  /** Waits for the next event. `patienceMs`: how long to wait for the caller, once our turn is over. */
  async next(patienceMs?: number): Promise<Happening<A>> {
    for (;;) {
      const turn = this.#turn
      if (turn === null && this.#waiting !== null) return this.#answered(this.#waiting.answer)
      if (turn === null && !this.#listener.isListening) return { kind: 'silence' }
      if (turn !== null && this.#isOver(turn)) return { kind: 'spoken', turn: this.#close(turn) }
      const input = this.#keptInput() ?? (await this.#parts.stage.next(this.#patienceMs(patienceMs)))
      if (input === 'nudged') continue
      if (input === null) {
        if (turn !== null && isSpoken(turn)) return { kind: 'spoken', turn: this.#close(turn) }
        const isSilent = turn === null && !this.#isCallerSpeaking
        if (isSilent && !(await this.#parts.stage.isPaused())) return { kind: 'silence' }
        this.#isCallerSpeaking = false
        continue
      }
      const answer = this.#take(input)
      if (answer === null) continue
      if (turn === null || this.#listener.isInterruptible) return this.#answered(answer)
      this.#wait(answer, input)
    }
  }

  #keptInput(): ProgramInput | undefined {
    const input = this.#kept.shift()
    if (input !== undefined) this.#parts.stage.release(input)
    return input
  }

  /** Keeps an answer for later. A later one replaces it. */
  #wait(answer: A, input: ProgramInput): void {
    const { stage } = this.#parts
    if (this.#waiting !== null) stage.release(this.#waiting.input)
    stage.hold(input)
    this.#waiting = { answer, input }
  }

  /** The answer to a question from before the process died, if it is already there. */
  async early(): Promise<A | null> {
    return this.#parts.stage.poll(input => this.#take(input))
  }

  async #answered(answer: A): Promise<Happening<A>> {
    if (this.#waiting !== null) this.#parts.stage.release(this.#waiting.input)
    this.#waiting = null
    return { kind: 'answered', answer, over: await this.silence() }
  }

  #take(input: ProgramInput): A | null {
    if (isTold(input)) this.#turn?.note(input)
    else if (input.kind === 'speech_started') this.#isCallerSpeaking = true
    const answer = this.#listener.answerIn(input)
    if (answer === undefined) return null
    this.#isCallerSpeaking = false
    return answer
  }

  /** Whether our turn is over: not while a caller who has interrupted it is still talking or pressing keys. */
  #isOver(turn: Turn): boolean {
    const { isListening, isCollecting } = this.#listener
    const isTyping = isCollecting && turn.isTalkedOver
    return isSpoken(turn) && !(isListening && (isTyping || (turn.isCut && this.#isCallerSpeaking)))
  }

  #patienceMs(patienceMs: number | undefined): number | undefined {
    if (this.#isCallerSpeaking) return LONGEST_SPEECH_MS
    if (this.#turn === null) return patienceMs
    return isSpoken(this.#turn) ? LONGEST_ENTRY_MS : undefined
  }
}

const isSpoken = (turn: Turn): boolean => turn.isMade && turn.isHeard

const isTold = (input: ProgramInput): input is ProgramInput & { kind: 'played' | 'play_started' } =>
  input.kind === 'played' || input.kind === 'play_started'
