import type { PlaySource, Request } from '../../media/protocol.ts'
import { type TurnTiming, UNTIMED } from '../calls/programs/step-schema.ts'
import type { CallerInput } from '../flows/engine/conditions.ts'
import type { CollectRequest } from '../flows/engine/effects.ts'
import type { FlowModel, ModelReply, ReplyRequest } from '../flows/engine/model.ts'
import { isModelFailure, type ModelFailure } from '../models/model.ts'
import { collectCommand, inputOf } from './collect.ts'
import { BACK_CHANNELS, Conversation, type ConversationParts, type Listener } from './conversation/conversation.ts'
import { type Heard, type StoredTurn, Turn, textOf } from './conversation/turn.ts'
import type { ProgramInput } from './input.ts'
import type { Stage } from './stage.ts'

/** Time-out of media's collection [ms]. It is long, because the node's own time-out begins with our last word. */
const LISTEN_MS = 600_000
/** Prefix of collection IDs that belong to a conversation, not to a question node. */
const PREFIX = 'talk-'

/** The part of a flow's progress that belongs to its conversations. */
export interface NodeProgress {
  /** Prompts of the flow not yet sent to media: they are sent with the next one that the caller can answer. */
  pending: PlaySource[]
  /** Numbers the collections and plays. */
  count: number
  /** The ID of the collection in progress; null: none. */
  collectId: string | null
  /** The model's turn at a node of type `ai`: what was sent of it and, once it is complete, its outcome. */
  saying: { turn: StoredTurn; made: ModelReply | ModelFailure | null } | null
}

interface NodeSessionParts extends ConversationParts {
  progress: NodeProgress
  model: FlowModel
  /** Stores the flow's progress. */
  save: () => Promise<void>
  /** Starts a collection; false: media cannot listen. */
  ask: (command: Request<'leg.collect'>) => Promise<boolean>
}

/** The model's reply if there is nothing to say. */
const NOTHING: ModelReply = { text: '', done: false, value: null }
const FAILED: ModelFailure = { failure: 'unavailable', message: 'the line could not be made' }

/**
 * The conversation at a flow's nodes of type `ai`: a turn of the model and the caller's answer, with which the flow continues. Media
 * collects all the time, so that one command receives both words and keys.
 */
export class NodeSession implements Listener<CallerInput> {
  readonly isInterruptible = true
  readonly isCollecting = true
  /** How long the parts of the last line took. */
  timing: TurnTiming = UNTIMED
  /** The caller's last utterance; null: none. */
  heard: Heard | null = null
  readonly #parts: NodeSessionParts
  readonly #stage: Stage
  readonly #progress: NodeProgress
  readonly #conversation: Conversation<CallerInput>
  #answer: CallerInput | null = null

  constructor(parts: NodeSessionParts) {
    this.#parts = parts
    this.#stage = parts.stage
    this.#progress = parts.progress
    this.#conversation = new Conversation(parts, this)
  }

  /** Whether the caller has already answered. */
  get hasAnswer(): boolean {
    return this.#answer !== null
  }

  /** After a restart: takes the answer that has come meanwhile or, if media no longer collects, forgets the collection. */
  async takeUp(): Promise<void> {
    this.#answer = await this.#conversation.early()
    if (this.#answer === null && this.#stage.resumed?.collecting !== true) this.#progress.collectId = null
  }

  /** `isLeft`: the turn was in progress when the process died. */
  async reply(request: ReplyRequest, listen: CollectRequest, isLeft: boolean): Promise<ModelReply | ModelFailure> {
    const progress = this.#progress
    this.#answer = null
    const stored = isLeft ? (progress.saying?.turn ?? null) : null
    let left = stored === null ? null : await this.#conversation.restore(stored)
    if (left !== null && progress.saying?.made === null && textOf(left.stored).trim() === '') {
      // Prompts of the flow were said, and nothing of the model's line yet.
      progress.pending = []
      left = null
    }
    if (isLeft && this.isListening) await this.takeUp()
    const turn = this.#conversation.beginAnew(left ?? new Turn(++progress.count, 'ai', this.heard))
    if (left === null && this.#answer === null) await this.#begin(turn, request, listen)
    if (this.#answer !== null) await this.#conversation.silence()
    else {
      const happened = await this.#conversation.next()
      if (happened.kind === 'answered') this.#answer = happened.answer
    }
    this.timing = turn.timing
    const made = progress.saying?.made ?? (turn.isFailed ? FAILED : NOTHING)
    progress.saying = null
    progress.pending = []
    if (!isModelFailure(made)) return { ...made, text: turn.heardText, done: made.done && !turn.timing.interrupted }
    // The flow continues at another node, where this would answer another question.
    this.#answer = null
    return made
  }

  /** The caller's answer after our turn has ended. */
  async answer({ timeoutMs }: CollectRequest): Promise<CallerInput> {
    if (this.#answer === null) {
      const happened = await this.#conversation.next(timeoutMs)
      if (happened.kind === 'answered') this.#answer = happened.answer
    }
    const answer = this.#answer ?? { kind: 'no_response' as const }
    this.#answer = null
    return answer
  }

  async #begin(turn: Turn, request: ReplyRequest, listen: CollectRequest): Promise<void> {
    const progress = this.#progress
    const { save } = this.#parts
    progress.saying = { turn: turn.stored, made: null }
    const isListening = this.isListening
    if (!isListening) progress.collectId = listen.bargeIn ? `${PREFIX}${++progress.count}` : null
    await save()
    if (progress.collectId !== null && !isListening) await this.#collect(listen, progress.collectId)
    // Pending prompts of the flow come first, and do not count as the model's words.
    if (progress.pending.length > 0) await this.#conversation.play(turn, '', progress.pending)
    this.#make(turn, request)
  }

  async #collect(listen: CollectRequest, collectId: string): Promise<void> {
    const { voice, ask } = this.#parts
    const at = { legId: this.#stage.legId, collectId, language: voice.language, prompts: [] }
    const { speech, ...command } = collectCommand(listen, at)
    const bargeIn = speech?.bargeIn == null ? null : { ...speech.bargeIn, backChannels: BACK_CHANNELS }
    const listening = speech == null ? null : { ...speech, bargeIn }
    const isAsked = await ask({ ...command, firstDigitTimeoutMs: LISTEN_MS, speech: listening })
    if (!isAsked) this.#progress.collectId = null
  }

  #make(turn: Turn, request: ReplyRequest): void {
    this.#conversation.make(turn, async making => {
      let isSilent = true
      const say = (sentence: string): Promise<void> => {
        isSilent = false
        return making.say(sentence)
      }
      const made = await this.#parts.model.reply(request, { ...making, say })
      if (isSilent && !isModelFailure(made) && made.text !== '') await say(made.text)
      if (!turn.abort.signal.aborted) this.#progress.saying = { turn: turn.stored, made }
    })
  }

  // ------------------------------------------------------------------ Listener

  get isListening(): boolean {
    return this.#progress.collectId?.startsWith(PREFIX) === true
  }

  answerIn(input: ProgramInput): CallerInput | null | undefined {
    const progress = this.#progress
    if (input.kind !== 'collected' || !this.isListening) return undefined
    const answer = inputOf(input, progress.collectId ?? '')
    if (answer === null) return undefined
    progress.collectId = null
    if (answer.kind === 'no_response') return null
    const { utterance } = input
    this.heard =
      utterance === null
        ? null
        : {
            endedClockMs: utterance.endedClockMs,
            timing: { ...UNTIMED, endpoint_ms: utterance.endpointMs, transcribe_ms: utterance.transcribeMs },
          }
    return answer
  }

  save(turn: StoredTurn): Promise<void> {
    this.#progress.saying = { turn, made: null }
    return this.#parts.save()
  }
}
