import type { PlaySource, Request } from '../../media/protocol.ts'
import { type TurnTiming, UNTIMED } from '../calls/programs/step-schema.ts'
import type { CallerInput } from '../flows/engine/conditions.ts'
import type { CollectRequest } from '../flows/engine/effects.ts'
import type { FlowModel, ModelReply, ReplyListener, ReplyRequest } from '../flows/engine/model.ts'
import type { ModelFailure } from '../models/model.ts'
import { isModelFailure } from '../models/model.ts'
import { BACK_CHANNELS, Speaking, type SpeakingParts } from './assistant/speaking.ts'
import { type Heard, type StoredTurn, Turn } from './assistant/turn.ts'
import { collectCommand, inputOf } from './collect.ts'
import type { ProgramInput } from './input.ts'

/** Media ends the listening of a talk by itself only after this long [ms]; the node's own time-out is counted from our last word. */
const LISTEN_MS = 600_000
/** Who began to speak has said something by then, or nothing that we are told of [ms]. */
const LONGEST_SPEECH_MS = 30_000
/** Who has pressed a key is done with it by then [ms]. */
const LONGEST_ENTRY_MS = 5000
const PREFIX = 'talk-'

/** What of a flow's progress belongs to its talks. */
export interface TalkState {
  /** Said by the flow, and not yet sent to media: it goes with the next thing that the caller can answer. */
  pending: PlaySource[]
  /** Numbers the collections and plays. */
  count: number
  /** The collection under way. */
  collectId: string | null
  /** The model's line at a node of type `ai`: what was sent of it, and, once it is made, what came of it. */
  saying: { turn: StoredTurn; made: ModelReply | ModelFailure | null } | null
}

export interface NodeTalkParts extends SpeakingParts {
  progress: TalkState
  model: FlowModel
  /** Stores how far the flow is. */
  save: () => Promise<void>
  /** Has media listen; false: it cannot. */
  ask: (command: Request<'leg.collect'>) => Promise<boolean>
}

/**
 * How the model speaks at nodes of type `ai`: its first sentence is heard while the rest is made, and what the caller says or presses
 * over it cancels the rest. Media collects all the while, so that one command listens to words and keys alike.
 */
export class NodeTalk {
  /** How long the parts of the last line took. */
  timing: TurnTiming = UNTIMED
  /** Of what the caller said last. */
  heard: Heard | null = null
  readonly #parts: NodeTalkParts
  readonly #speaking: Speaking
  #answer: CallerInput | null = null
  #isCallerSpeaking = false

  constructor(parts: NodeTalkParts) {
    this.#parts = parts
    this.#speaking = new Speaking(parts)
  }

  /** Media is listening for this talk. */
  get isOpen(): boolean {
    return this.#parts.progress.collectId?.startsWith(PREFIX) === true
  }

  /** The caller has answered already. */
  get hasAnswer(): boolean {
    return this.#answer !== null
  }

  /** The listening that was under way when the process died: whether it still is, or has been answered. */
  async takeUp(): Promise<boolean> {
    const early = await this.#parts.stage.poll(input => (this.#take(input) ? true : null))
    if (early === null && this.#parts.stage.resumed?.collecting !== true) this.#parts.progress.collectId = null
    return this.isOpen
  }

  /** `isLeft`: it was under way when the process died. */
  async reply(request: ReplyRequest, listen: CollectRequest, isLeft: boolean): Promise<ModelReply | ModelFailure> {
    const { progress } = this.#parts
    this.#answer = null
    this.#isCallerSpeaking = false
    const left = isLeft ? await this.#restored() : null
    if (isLeft && this.isOpen) await this.takeUp()
    const turn = left ?? new Turn(++progress.count, 'ai', this.heard)
    if (left === null && this.#answer === null) await this.#begin(turn, request, listen)
    await this.#untilHeard(turn)
    const made = progress.saying?.made ?? { text: '', done: false, value: null }
    const isInterrupted = turn.isInterrupted || turn.isTalkedOver || this.#answer !== null
    this.timing = { ...turn.timing, heard_ms: turn.heardMs, interrupted: isInterrupted }
    this.#parts.log.info({ callId: this.#parts.stage.call.id, turn: turn.number, ...this.timing }, 'turn')
    progress.saying = null
    progress.pending = []
    if (isModelFailure(made)) {
      // The flow goes on elsewhere, where this would be an answer to something else.
      this.#answer = null
      return made
    }
    return { ...made, text: turn.heardText, done: made.done && !isInterrupted }
  }

  /** What the caller does once our line is over. */
  async answer({ timeoutMs }: CollectRequest): Promise<CallerInput> {
    const { stage } = this.#parts
    while (this.#answer === null && this.isOpen) {
      const input = await stage.next(this.#isCallerSpeaking ? LONGEST_SPEECH_MS : timeoutMs)
      if (input === 'nudged') continue
      if (input !== null) this.#note(input, null)
      else if (!this.#isCallerSpeaking) break
      else this.#isCallerSpeaking = false
    }
    const answer = this.#answer ?? { kind: 'no_response' as const }
    this.#answer = null
    return answer
  }

  /** A line of which something was heard is not made again; what was made of it is all there is. */
  async #restored(): Promise<Turn | null> {
    const { stage, progress } = this.#parts
    const turn = progress.saying === null ? null : Turn.restored(progress.saying.turn)
    if (turn === null || turn.isSilent) return null
    if (stage.resumed?.playing === true) return turn
    const told = (input: ProgramInput) => (input.kind === 'played' || input.kind === 'play_started' ? input : null)
    for (let input = await stage.poll(told); input !== null; input = await stage.poll(told)) turn.note(input)
    if (turn.isUntold) return null
    turn.giveUp()
    return turn
  }

  async #begin(turn: Turn, request: ReplyRequest, listen: CollectRequest): Promise<void> {
    const { stage, progress, voice, save, ask } = this.#parts
    progress.saying = { turn: turn.stored, made: null }
    const isListening = this.isOpen
    if (!isListening) progress.collectId = listen.bargeIn ? `${PREFIX}${++progress.count}` : null
    await save()
    if (progress.collectId !== null && !isListening) {
      const at = { legId: stage.legId, collectId: progress.collectId, language: voice.language, prompts: [] }
      const { speech, ...command } = collectCommand(listen, at)
      const bargeIn = speech?.bargeIn == null ? null : { ...speech.bargeIn, backChannels: BACK_CHANNELS }
      const listening = speech == null ? null : { ...speech, bargeIn }
      const isAsked = await ask({ ...command, firstDigitTimeoutMs: LISTEN_MS, speech: listening })
      if (!isAsked) progress.collectId = null
    }
    // What the flow has said so far comes first, and is nothing of the model's.
    if (progress.pending.length > 0) await this.#speaking.play(turn, '', progress.pending, this.#saver(turn), true)
    this.#make(turn, request)
  }

  /** Makes the line while the loop goes on listening. */
  #make(turn: Turn, request: ReplyRequest): void {
    const { stage, log, model, progress } = this.#parts
    const { timing, abort } = turn
    const begun = stage.now().getTime()
    let isSilent = true
    const listener: ReplyListener = {
      say: sentence => {
        isSilent = false
        return this.#speaking.say(turn, sentence, this.#saver(turn), true)
      },
      firstToken: () => {
        timing.first_token_ms ??= stage.now().getTime() - begun
      },
      model: name => {
        timing.model = name
      },
      tokens: (input, output) => {
        timing.input_tokens = (timing.input_tokens ?? 0) + input
        timing.output_tokens = (timing.output_tokens ?? 0) + output
      },
      key: `${stage.call.id}-${turn.number}`,
      signal: abort.signal,
    }
    const make = async (): Promise<ModelReply | ModelFailure> => {
      const made = await model.reply(request, listener)
      if (isSilent && !isModelFailure(made) && made.text !== '') await listener.say(made.text)
      return made
    }
    make()
      .catch((error: unknown): ModelFailure => {
        const isOver = abort.signal.aborted || stage.signal.aborted
        if (!isOver) log.error({ err: error, callId: stage.call.id }, 'a line could not be made')
        return { failure: 'unavailable', message: 'the line could not be made' }
      })
      .then(made => {
        if (!abort.signal.aborted) progress.saying = { turn: turn.stored, made }
        turn.isMade = true
        stage.nudge()
      })
  }

  #saver(turn: Turn): () => Promise<void> {
    const { progress, save } = this.#parts
    return () => {
      progress.saying = { turn: turn.stored, made: null }
      return save()
    }
  }

  async #untilHeard(turn: Turn): Promise<void> {
    const { stage } = this.#parts
    while (this.#answer === null) {
      const isOver = turn.isMade && turn.isHeard
      // Who talks or types over our last word has not been heard out.
      const isAnswering = this.isOpen && (turn.isTalkedOver || (turn.isCut && this.#isCallerSpeaking))
      if (isOver && !isAnswering) return
      const input = await stage.next(
        isOver ? (this.#isCallerSpeaking ? LONGEST_SPEECH_MS : LONGEST_ENTRY_MS) : undefined,
      )
      if (input === null) return
      if (input !== 'nudged') this.#note(input, turn)
    }
    if (!(turn.isMade && turn.isHeard)) await this.#speaking.silence(turn, input => this.#note(input, turn))
  }

  #note(input: ProgramInput, turn: Turn | null): void {
    if (input.kind === 'played' || input.kind === 'play_started') turn?.note(input)
    else if (input.kind === 'speech_started') this.#isCallerSpeaking = true
    else this.#take(input)
  }

  /** Whether this ends what we listen for. */
  #take(input: ProgramInput): boolean {
    const { progress } = this.#parts
    if (input.kind !== 'collected' || !this.isOpen) return false
    const answer = inputOf(input, progress.collectId ?? '')
    if (answer === null) return false
    this.#isCallerSpeaking = false
    progress.collectId = null
    if (answer.kind === 'no_response') return true
    this.#answer = answer
    const { utterance } = input
    this.heard =
      utterance === null
        ? null
        : {
            endedClockMs: utterance.endedClockMs,
            timing: { ...UNTIMED, endpoint_ms: utterance.endpointMs, transcribe_ms: utterance.transcribeMs },
          }
    return true
  }
}
