import type { Logger } from 'pino'
import type { Utterance } from '../../../media/protocol.ts'
import type { TimedStep } from '../../calls/programs/records.ts'
import { UNTIMED } from '../../calls/programs/step-schema.ts'
import { asksNotToBeCalled } from '../../consents/refusals.ts'
import type { ReplyListener } from '../../flows/engine/model.ts'
import { type Phrases, phrasesOf } from '../../kernel/phrases.ts'
import type { ChatMessage } from '../../models/model.ts'
import type { ToolParts } from '../../tools/use-http.ts'
import type { BookCallback } from '../actions/callback.ts'
import { type LiveSettings, voiceOf } from '../assistant-settings.ts'
import { BARGE_IN_AFTER_MS } from '../collect.ts'
import { BACK_CHANNELS, Conversation, type Listener } from '../conversation/conversation.ts'
import { type AfterTurn, type Heard, type StoredTurn, Turn, textOf } from '../conversation/turn.ts'
import type { ProgramInput } from '../input.ts'
import { partiesOf } from '../parties.ts'
import type { Stage } from '../stage.ts'
import { builtInCalled, paymentAsked, useBuiltIn } from './built-in-tools.ts'
import { bookByAssistant, callbackTool, isCallbackCall } from './callback-tool.ts'
import { type ReplyParts, reply, spokenInstructions } from './reply.ts'
import { END_CALL } from './tool-names.ts'
import { handOverOf, keyOfUse, runTool, type ToolCall, type ToolResult, toolsOf, transferName } from './tools.ts'

type HandingOver = Extract<AfterTurn, { kind: 'hand_over' }>

/** An assistant's progress: enough to continue after a restart. */
export interface AssistantProgress {
  messages: ChatMessage[]
  /** Numbers the turns of the assistant. */
  turns: number
  /** Number of tools that were used, which older versions did not store. */
  uses?: number
  /** How many times in a row the caller has said nothing. */
  silences: number
  /** The turn that is being spoken; null: none. */
  saying: StoredTurn | null
  /** The hand-over in progress; null: none. */
  handOver: (Pick<HandingOver, 'name' | 'payment'> & { memo: unknown }) | null
}

/** Node key in the steps of an assistant, which has no nodes. */
const NODE_KEY = 'assistant'
const MAX_MESSAGES = 80
const MAX_TURNS = 200
const MAX_SILENCES = 2
const MAX_UTTERANCE_MS = 20_000

export interface AssistantSessionParts extends ReplyParts, ToolParts {
  log: Logger
  bookCallback: BookCallback
}

/** An assistant's conversation with a caller: a greeting, then turn by turn, until the call is to end or to be handed over. */
export class AssistantSession implements Listener<Utterance> {
  readonly isListening = true
  readonly isCollecting = false
  readonly progress: AssistantProgress
  readonly #parts: AssistantSessionParts
  readonly #stage: Stage
  readonly #settings: LiveSettings
  readonly #phrases: Phrases
  readonly #conversation: Conversation<Utterance>
  #steps: TimedStep[] = []

  constructor(parts: AssistantSessionParts, stage: Stage, settings: LiveSettings, progress: AssistantProgress | null) {
    this.#parts = parts
    this.#stage = stage
    this.#settings = settings
    this.#phrases = phrasesOf(settings.language)
    this.#conversation = new Conversation({ stage, log: parts.log, voice: voiceOf(settings) }, this)
    this.progress = progress ?? { messages: [], turns: 0, silences: 0, saying: null, handOver: null }
  }

  /** Runs the conversation; returns how it is to end. */
  async run(isNew: boolean): Promise<AfterTurn> {
    if (!(await this.#listen())) return this.#wayOut
    if (isNew) await this.#greet()
    else await this.#resume()
    for (;;) {
      const happened = await this.#conversation.next(this.#settings.turn.no_response_ms)
      if (happened.kind === 'silence') await this.#silence()
      else if (happened.kind === 'answered') {
        if (happened.over !== null) this.#spoken(happened.over)
        await this.#said(happened.answer)
      } else {
        this.#spoken(happened.turn)
        await this.#save()
        if (happened.turn.after !== null) return happened.turn.after
      }
    }
  }

  // ------------------------------------------------------------------ Listener

  get isInterruptible(): boolean {
    return this.#settings.turn.interruptible
  }

  /** Noise, or a word like "mm-hm", is no answer: the interrupted line resumes. */
  answerIn(input: ProgramInput): Utterance | null | undefined {
    if (input.kind !== 'utterance') return undefined
    return input.utterance.resumed || input.utterance.text.trim() === '' ? null : input.utterance
  }

  async save(turn: StoredTurn): Promise<void> {
    this.progress.saying = turn
    await this.#save()
  }

  /** Starts speech recognition. False: it does not support the assistant's language. */
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

  async #greet(): Promise<void> {
    const { greeting } = this.#settings
    if (greeting === '') return this.#save()
    await this.#script(greeting, null)
  }

  async #resume(): Promise<void> {
    const { saying, messages } = this.progress
    const left = saying === null ? null : await this.#conversation.restore(saying)
    // Where nothing but a filler was said, the answer is still to come.
    if (left !== null && textOf(left.stored) !== this.#phrases.filler) this.#conversation.begin(left)
    else if (saying?.source === 'script') await this.#script(textOf(saying), saying.after)
    else if (['customer', 'result'].includes(messages.at(-1)?.role ?? '')) this.#answer(null)
  }

  /** Stores what the caller has said, and begins the answer. */
  async #said(utterance: Utterance): Promise<void> {
    const text = utterance.text.trim()
    const timing = { ...UNTIMED, endpoint_ms: utterance.endpointMs, transcribe_ms: utterance.transcribeMs }
    this.progress.silences = 0
    this.#remember({ role: 'customer', text })
    const entry = { node_key: NODE_KEY, role: 'customer' as const, source: 'speech' as const, text }
    this.#steps.push({ step: 'turn', entry, at: utterance.endedAt, timing })
    await this.#save()
    // A request such as "do not call me again" takes effect whatever the model does: storing the words also adds the number to the list.
    if (asksNotToBeCalled(text)) return this.#script(this.#phrases.notCalledAgain, null)
    this.#answer({ endedClockMs: utterance.endedClockMs, timing })
  }

  /** How the call ends if the assistant cannot listen: in a queue with people, if there is one. */
  get #wayOut(): AfterTurn {
    const queue = this.#settings.hand_overs.find(({ target }) => target.type === 'queue')
    return queue === undefined
      ? { kind: 'end', reason: 'error' }
      : { kind: 'hand_over', name: transferName(queue.name) }
  }

  async #silence(): Promise<void> {
    if (++this.progress.silences > MAX_SILENCES) {
      await this.#script(this.#phrases.goodbye, { kind: 'end', reason: 'no_response_limit' })
    } else await this.#script(this.#phrases.stillThere, null)
  }

  // ------------------------------------------------------------------ turns of the assistant

  #next(source: 'ai' | 'script', caller: Heard | null = null): Turn {
    const turn = this.#conversation.begin(new Turn(++this.progress.turns, source, caller))
    if (turn.number >= MAX_TURNS) turn.after = { kind: 'end', reason: 'loop_limit' }
    return turn
  }

  async #script(text: string, after: AfterTurn | null): Promise<void> {
    const turn = this.#next('script')
    turn.after = after ?? turn.after
    await this.#conversation.say(turn, text)
    turn.isMade = true
  }

  #answer(caller: Heard | null): void {
    const turn = this.#next('ai', caller)
    this.#conversation.make(turn, making => this.#make(turn, making))
  }

  async #make(turn: Turn, making: ReplyListener): Promise<void> {
    const { tenant, call } = this.#stage
    const settings = this.#settings
    const made = await reply(
      this.#parts,
      {
        tenant,
        instructions: spokenInstructions(settings.language, 'Say goodbye before you end the call.', settings.prompt),
        documentIds: settings.kb_document_ids,
        messages: [...this.progress.messages],
        tools: [...toolsOf(settings), ...callbackTool(settings)],
        conclude: called => conclusionOf(settings, called),
        run: called => this.#use({ ...called, signal: making.signal }),
        filler: this.#phrases.filler,
        signal: making.signal,
      },
      {
        ...making,
        tool: ({ name, input, output, status }, told) => {
          const kind = isCallbackCall(settings, name) ? ('callback' as const) : ('tool' as const)
          const entry = { node_key: NODE_KEY, kind, name, input, output, dry_run: false, status }
          this.#steps.push({ step: 'action', entry, at: this.#stage.now().toISOString() })
          // Known from now on, also if the caller does not wait for the answer. Whether a request that this has cut short took effect is not known.
          if (status === 'failed' && making.signal.aborted) return
          this.progress.uses = (this.progress.uses ?? 0) + 1
          for (const message of told) this.#remember(message)
        },
      },
    )
    if (turn.abort.signal.aborted) return
    turn.after = made.after ?? turn.after
    if (made.failed === null) return
    this.#parts.log.warn({ callId: call.id, reason: made.failed }, 'no model answers')
    await making.say(this.#phrases.apology)
    turn.after = this.#wayOut
  }

  #use(called: ToolCall & { signal: AbortSignal }): Promise<ToolResult> {
    const { tenant, call } = this.#stage
    const settings = this.#settings
    if (isCallbackCall(settings, called.name)) {
      return bookByAssistant(this.#parts.bookCallback, this.#stage, settings, called.input)
    }
    const tool = builtInCalled(settings, called.name)
    const documentIds = settings.kb_document_ids
    if (tool !== undefined) return useBuiltIn(this.#parts, this.#stage, { tool, documentIds }, called)
    const key = keyOfUse(call.id, String(this.progress.uses ?? 0), called)
    return runTool(this.#parts, settings, { ...called, key, tenant, call: partiesOf(call) })
  }

  /** Only the part of a turn that was heard counts as said. */
  #spoken({ heardText: text, timing, source }: Turn): void {
    this.progress.saying = null
    if (text === '') return
    this.#remember({ role: 'assistant', text })
    const entry = { node_key: NODE_KEY, role: 'assistant' as const, source, text }
    this.#steps.push({ step: 'turn', entry, at: this.#stage.now().toISOString(), timing: { ...timing } })
  }

  // ------------------------------------------------------------------ what is kept

  #remember(message: ChatMessage): void {
    const { messages } = this.progress
    messages.push(message)
    // A tool result without its call would be refused by providers.
    while (messages.length > MAX_MESSAGES || messages[0]?.role === 'result') messages.shift()
  }

  async #save(): Promise<void> {
    const steps = this.#steps
    this.#steps = []
    await this.#stage.commit({ state: this.progress, steps })
  }
}

/** The effect of a tool call on the call itself; null: it is a tool to be run. */
function conclusionOf(settings: LiveSettings, called: ToolCall): AfterTurn | null {
  const { name } = called
  const payment = paymentAsked(settings, called)
  if (payment !== null) return { kind: 'hand_over', name, payment }
  if (name === END_CALL) return { kind: 'end', reason: 'assistant_ended' }
  return handOverOf(settings, name) === undefined ? null : { kind: 'hand_over', name }
}
