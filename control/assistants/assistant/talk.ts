import type { Logger } from 'pino'
import type { Utterance } from '../../../media/protocol.ts'
import type { TimedStep } from '../../calls/programs/records.ts'
import { UNTIMED } from '../../calls/programs/step-schema.ts'
import { type Phrases, phrasesOf } from '../../kernel/phrases.ts'
import type { ChatMessage } from '../../models/model.ts'
import type { BookCallback } from '../actions/callback.ts'
import type { HttpActionParts } from '../actions/http-action.ts'
import { type AssistantSettings, voiceOf } from '../assistant-settings.ts'
import { BARGE_IN_AFTER_MS } from '../collect.ts'
import type { ProgramInput } from '../input.ts'
import type { Stage } from '../stage.ts'
import { bookByAssistant, callbackTool, isCallbackCall } from './callback-tool.ts'
import { type ReplyParts, reply, spokenInstructions } from './reply.ts'
import { BACK_CHANNELS, Speaking } from './speaking.ts'
import { END_CALL } from './tool-names.ts'
import { handOverOf, runTool, toolsOf, transferName } from './tools.ts'
import { type AfterTurn, type Heard, type StoredTurn, Turn } from './turn.ts'

/** How far a talk is: enough to go on from after a restart. */
export interface TalkProgress {
  messages: ChatMessage[]
  /** Numbers the turns of the assistant. */
  turns: number
  /** Times in a row that the caller said nothing. */
  silences: number
  /** What is being said. */
  saying: StoredTurn | null
  /** Of a hand-over under way. */
  handOver: { name: string; memo: unknown } | null
}

export type Outcome = AfterTurn

/** What steps of an assistant name as their node: it has none. */
const NODE_KEY = 'assistant'
const MAX_MESSAGES = 80
const MAX_TURNS = 200
const MAX_SILENCES = 2
const MAX_UTTERANCE_MS = 20_000
/** Who began to speak has said something by then, or nothing that we are told of [ms]. */
const LONGEST_SPEECH_MS = 30_000

export interface TalkParts extends ReplyParts, HttpActionParts {
  log: Logger
  bookCallback: BookCallback
}

/**
 * A conversation by voice: greeting, then turn by turn. The first sentence is heard while the rest is made; what the caller says over
 * it cancels the rest, and the history keeps what was heard.
 */
export class Talk {
  readonly #parts: TalkParts
  readonly #stage: Stage
  readonly #settings: AssistantSettings
  readonly #phrases: Phrases
  readonly #progress: TalkProgress
  readonly #speaking: Speaking
  #turn: Turn | null = null
  #steps: TimedStep[] = []
  /** The caller's words that wait until an assistant that may not be interrupted has spoken. */
  #waiting: Utterance | null = null
  /** What came while interrupted sentences settled. */
  readonly #kept: ProgramInput[] = []
  #isCallerSpeaking = false

  constructor(parts: TalkParts, stage: Stage, settings: AssistantSettings, progress: TalkProgress | null) {
    this.#parts = parts
    this.#stage = stage
    this.#settings = settings
    this.#phrases = phrasesOf(settings.language)
    this.#speaking = new Speaking({ stage, log: parts.log, voice: voiceOf(settings) })
    this.#progress = progress ?? { messages: [], turns: 0, silences: 0, saying: null, handOver: null }
  }

  get progress(): TalkProgress {
    return this.#progress
  }

  /** Speaks and listens until the call is to end or to be given to somebody. */
  async run(isNew: boolean): Promise<Outcome> {
    if (!(await this.#listen())) return this.#wayOut
    if (isNew) await this.#begin()
    else await this.#resume()
    for (;;) {
      const turn = this.#turn
      // Who talks over the goodbye has not been heard out.
      if (turn?.isMade && turn.isHeard && !(turn.isCut && this.#isCallerSpeaking)) {
        const after = await this.#finish(turn)
        if (after !== null) return after
        continue
      }
      const input = this.#kept.shift() ?? (await this.#stage.next(this.#patienceMs))
      if (input === 'nudged') continue
      if (input !== null) await this.#hear(input)
      else if (this.#isCallerSpeaking) this.#isCallerSpeaking = false
      else await this.#silence()
    }
  }

  /** How long to wait for the caller [ms]; undefined: it is not his turn. */
  get #patienceMs(): number | undefined {
    if (this.#isCallerSpeaking) return LONGEST_SPEECH_MS
    return this.#turn === null ? this.#settings.turn.no_response_ms : undefined
  }

  /** False: nobody here understands the assistant's language. */
  async #listen(): Promise<boolean> {
    const { silence_ms: endOfSpeechMs, interruptible } = this.#settings.turn
    const reply = await this.#stage.request('leg.listen', {
      legId: this.#stage.legId,
      listen: {
        listenId: this.#stage.call.id,
        language: this.#settings.language,
        endOfSpeechMs,
        maxUtteranceMs: MAX_UTTERANCE_MS,
        bargeIn: interruptible ? { afterMs: BARGE_IN_AFTER_MS, resume: true, backChannels: BACK_CHANNELS } : null,
      },
    })
    if (!('failure' in reply)) return true
    this.#parts.log.warn({ callId: this.#stage.call.id, ...reply }, 'cannot listen to a caller')
    return reply.failure !== 'invalid'
  }

  async #begin(): Promise<void> {
    const { greeting } = this.#settings
    if (greeting === '') return this.#save()
    await this.#script(greeting, null)
  }

  async #resume(): Promise<void> {
    const { saying, messages } = this.#progress
    if (saying !== null) {
      this.#turn = Turn.restored(saying)
      // What was heard meanwhile is told by events that wait; else it is still being heard.
      if (this.#stage.resumed?.playing !== true)
        await this.#speaking.settle(this.#turn, input => this.#kept.push(input))
    } else if (['customer', 'result'].includes(messages.at(-1)?.role ?? '')) this.#answer(null)
  }

  // ------------------------------------------------------------------ what happens

  async #hear(input: ProgramInput): Promise<void> {
    switch (input.kind) {
      case 'play_started':
      case 'played':
        return this.#turn?.note(input)
      case 'speech_started':
        this.#isCallerSpeaking = true
        return
      case 'utterance':
        this.#isCallerSpeaking = false
        return this.#heard(input.utterance)
    }
  }

  async #heard(utterance: Utterance): Promise<void> {
    // A cough, a mm-hm: what was being said goes on.
    if (utterance.resumed || utterance.text.trim() === '') return
    if (this.#turn !== null && !this.#settings.turn.interruptible) {
      this.#waiting = utterance
      return
    }
    if (this.#turn !== null) await this.#interrupt(this.#turn)
    await this.#said(utterance)
  }

  /** The caller's line, and the answer to it begins. */
  async #said(utterance: Utterance): Promise<void> {
    const text = utterance.text.trim()
    const timing = { ...UNTIMED, endpoint_ms: utterance.endpointMs, transcribe_ms: utterance.transcribeMs }
    this.#progress.silences = 0
    this.#remember({ role: 'customer', text })
    const entry = { node_key: NODE_KEY, role: 'customer' as const, source: 'speech' as const, text }
    this.#steps.push({ step: 'turn', entry, at: utterance.endedAt, timing })
    await this.#save()
    this.#answer({ endedClockMs: utterance.endedClockMs, timing })
  }

  /** Of an assistant that cannot do its work: a queue with people, where it has one. */
  get #wayOut(): AfterTurn {
    const queue = this.#settings.hand_overs?.find(({ target }) => target.type === 'queue')
    return queue === undefined
      ? { kind: 'end', reason: 'error' }
      : { kind: 'hand_over', name: transferName(queue.name) }
  }

  async #silence(): Promise<void> {
    if (++this.#progress.silences > MAX_SILENCES) {
      await this.#script(this.#phrases.goodbye, { kind: 'end', reason: 'no_response_limit' })
    } else await this.#script(this.#phrases.stillThere, null)
  }

  // ------------------------------------------------------------------ turns of the assistant

  #next(source: 'ai' | 'script', caller: Heard | null = null): Turn {
    const turn = new Turn(++this.#progress.turns, source, caller)
    if (turn.number >= MAX_TURNS) turn.after = { kind: 'end', reason: 'loop_limit' }
    this.#turn = turn
    return turn
  }

  async #script(text: string, after: AfterTurn | null): Promise<void> {
    const turn = this.#next('script')
    turn.after = after ?? turn.after
    await this.#say(turn, text)
    turn.isMade = true
  }

  /** Makes the answer while the loop goes on listening. */
  #answer(caller: Heard | null): void {
    const turn = this.#next('ai', caller)
    this.#make(turn)
      .catch(error => {
        if (!turn.abort.signal.aborted && !this.#stage.signal.aborted) {
          this.#parts.log.error({ err: error, callId: this.#stage.call.id }, 'an answer could not be made')
        }
      })
      .then(() => {
        turn.isMade = true
        this.#stage.nudge()
      })
  }

  async #make(turn: Turn): Promise<void> {
    const { tenant, call } = this.#stage
    const settings = this.#settings
    const signal = AbortSignal.any([turn.abort.signal, this.#stage.signal])
    const begun = this.#stage.now().getTime()
    const { timing, abort } = turn
    const made = await reply(
      this.#parts,
      {
        tenant,
        instructions: spokenInstructions(settings.language, 'Say goodbye before you end the call.', settings.prompt),
        documentIds: settings.kb_document_ids,
        messages: [...this.#progress.messages],
        tools: [...toolsOf(settings), ...callbackTool(settings)],
        conclude: ({ name }) => conclusionOf(settings, name),
        run: called =>
          isCallbackCall(settings, called.name)
            ? bookByAssistant(this.#parts.bookCallback, this.#stage, settings, called.input)
            : runTool(this.#parts, settings, { ...called, key: `${call.id}-${turn.number}-${called.id}`, signal }),
        filler: this.#phrases.filler,
        signal,
      },
      {
        say: sentence => this.#say(turn, sentence),
        firstToken: () => {
          timing.first_token_ms ??= this.#stage.now().getTime() - begun
        },
        model: name => {
          timing.model = name
        },
        tokens: (input, output) => {
          timing.input_tokens = (timing.input_tokens ?? 0) + input
          timing.output_tokens = (timing.output_tokens ?? 0) + output
        },
        tool: ({ name, input, output, status }) => {
          const kind = isCallbackCall(settings, name) ? ('callback' as const) : ('tool' as const)
          const entry = { node_key: NODE_KEY, kind, name, input, output, dry_run: false, status }
          this.#steps.push({ step: 'action', entry, at: this.#stage.now().toISOString() })
        },
      },
    )
    if (abort.signal.aborted) return
    for (const message of made.messages) if (message.role !== 'assistant') this.#remember(message)
    turn.after = made.after ?? turn.after
    if (made.failed === null) return
    this.#parts.log.warn({ callId: call.id, reason: made.failed }, 'no model answers')
    await this.#say(turn, this.#phrases.apology)
    turn.after = this.#wayOut
  }

  async #say(turn: Turn, text: string): Promise<void> {
    await this.#speaking.say(turn, text, () => {
      this.#progress.saying = turn.stored
      return this.#save()
    })
  }

  async #interrupt(turn: Turn): Promise<void> {
    turn.after = null
    await this.#speaking.silence(turn, input => this.#kept.push(input))
    this.#close(turn)
  }

  /** All of it was heard. */
  async #finish(turn: Turn): Promise<AfterTurn | null> {
    this.#close(turn)
    await this.#save()
    if (turn.after !== null) return turn.after
    const waiting = this.#waiting
    this.#waiting = null
    if (waiting !== null) await this.#said(waiting)
    return null
  }

  #close(turn: Turn): void {
    const { heardText: text, timing } = turn
    this.#turn = null
    this.#progress.saying = null
    timing.heard_ms = turn.heardMs
    timing.interrupted = turn.isInterrupted || turn.isCut
    if (text !== '') {
      this.#remember({ role: 'assistant', text })
      const entry = { node_key: NODE_KEY, role: 'assistant' as const, source: turn.source, text }
      this.#steps.push({ step: 'turn', entry, at: this.#stage.now().toISOString(), timing: { ...timing } })
    }
    this.#parts.log.info({ callId: this.#stage.call.id, turn: turn.number, ...timing }, 'turn')
  }

  // ------------------------------------------------------------------ what is kept

  #remember(message: ChatMessage): void {
    const { messages } = this.#progress
    messages.push(message)
    // A result without its call would be refused by providers.
    while (messages.length > MAX_MESSAGES || messages[0]?.role === 'result') messages.shift()
  }

  async #save(): Promise<void> {
    const steps = this.#steps
    this.#steps = []
    await this.#stage.commit({ state: this.#progress, steps })
  }
}

/** What a tool that the model asks for means for the call; null: it is one to be run. */
function conclusionOf(settings: AssistantSettings, name: string): AfterTurn | null {
  if (name === END_CALL) return { kind: 'end', reason: 'assistant_ended' }
  return handOverOf(settings, name) === undefined ? null : { kind: 'hand_over', name }
}
