import type { EndedReason, EventName, Events, Failure, ListenSpec, Request, RoomCapture } from '../protocol.ts'
import type { Leg, Waiter } from '../rooms/leg.ts'
import {
  type HeardWords,
  Hearing,
  type HearingCounters,
  type HearingTools,
  type Scribe,
} from '../speech/hearing/hearing.ts'
import { isBackChannel, isWordless } from '../speech/hearing/words.ts'
import { KeyCollector } from './key-collector.ts'
import { LegPlayback, type PlayEnded } from './leg-playback.ts'
import type { Prompts } from './prompts.ts'
import { SaidWords } from './said-words.ts'

interface DialogueHooks {
  emit<N extends EventName>(name: N, body: Events[N]): void
  /** Signalling has to end the leg. */
  end(legId: string, reason: EndedReason): void
  /** The party has pressed the key of consent: its room is captured in this way from now on. */
  agreed(capture: RoomCapture): void
}

interface DialogueOptions {
  prompts: Prompts
  /** Monotonic [ms]. */
  now: () => number
  hearing: HearingTools
  counters: HearingCounters
}

/** Keys that are kept for the next collection; further ones are lost. */
const MAX_AHEAD = 64

interface Collect {
  request: Request<'leg.collect'>
  keys: KeyCollector
}

type Ok = Record<string, never>

/**
 * The exchange with one party: what plays to it, the keys and words it gives, and how its words interrupt
 * what plays.
 */
export class Dialogue implements Waiter {
  readonly #leg: Leg
  readonly #options: DialogueOptions
  readonly #hooks: DialogueHooks
  readonly #playback: LegPlayback
  readonly #hearing: Hearing
  #collect: Collect | null = null
  /** A secret entry has ended in any way, and the party may continue typing, or one is to come: until it collects or moves, its keys are secret. */
  #typesSecret = false
  /** Keys for the next collection; null: they may be the rest of a secret, and are not kept. */
  #ahead: string | null = ''
  /** For the transcripts. */
  readonly #words: SaidWords

  constructor(leg: Leg, options: DialogueOptions, hooks: DialogueHooks) {
    this.#leg = leg
    this.#options = options
    this.#hooks = hooks
    this.#words = new SaidWords(options.now, words => this.#hearing.told(words))
    this.#playback = new LegPlayback(options.prompts, options.hearing.owner, this.#words, leg)
    this.#hearing = new Hearing(
      leg,
      options.hearing,
      { started: listen => this.#speechStarted(listen), heard: (listen, words) => this.#heard(listen, words) },
      options.counters,
    )
  }

  get playing(): boolean {
    return this.#playback.playing
  }

  get collecting(): boolean {
    return this.#collect !== null
  }

  /** Its keys are currently secret. */
  get secret(): boolean {
    return this.#collect?.request.sensitive === true || this.#typesSecret
  }

  // ------------------------------------------------------------------ playing

  async play({ legId, playId, sources, hangupAfter, ...options }: Request<'leg.play'>): Promise<Ok | Failure> {
    if (options.append !== true) this.#dropCollect()
    const problem = await this.#playback.play(sources, options, {
      started: () => this.#hooks.emit('play.started', { legId, playId, clockMs: Math.round(this.#options.now()) }),
      finished: (ended, heardMs) => {
        this.#hooks.emit('play.finished', { legId, playId, ended, heardMs })
        if (hangupAfter !== null && ended !== 'interrupted') this.#hooks.end(legId, hangupAfter)
      },
    })
    return problem === null ? {} : { failure: 'invalid', message: problem.error }
  }

  stopPlay(): Ok {
    this.#playback.stop()
    return {}
  }

  /** Somebody else is in the party's room. */
  accompany(): void {
    this.#playback.accompany()
  }

  // ------------------------------------------------------------------ keys and words

  async collect(request: Request<'leg.collect'>): Promise<Ok | Failure> {
    const { speech } = request
    const unknown = speech == null ? null : this.#problemWith(speech)
    if (unknown !== null) return unknown
    this.#dropCollect()
    this.#typesSecret = false
    const typed = this.#takeAhead(request)
    const keys = new KeyCollector(request, request.prompts.length > 0, this.#options.now())
    const collect = { request, keys }
    this.#collect = collect
    this.#leg.waiter = this
    if (speech != null) this.#listenTo(speech)
    for (const key of typed) if (!this.key(key)) this.typeAhead(key)
    // Who has answered already does not wait for the question.
    if (typed !== '') return {}
    const problem = await this.#playback.play(
      request.prompts,
      { loop: false },
      { finished: (ended: PlayEnded) => ended !== 'interrupted' && keys.promptEnded(this.#options.now()) },
    )
    if (problem === null) {
      if (request.agreement?.digits === null) this.#hooks.agreed(request.agreement.capture)
      return {}
    }
    if (this.#collect === collect) this.#dropCollect()
    return { failure: 'invalid', message: problem.error }
  }

  /** A key was pressed; returns whether it was collected. */
  key(key: string): boolean {
    const collect = this.#collect
    if (collect === null) return false
    if (this.#isPlayedThrough(collect)) return true
    if (collect.request.playThrough !== true) this.#playback.stop()
    this.#end(collect.keys.key(key, this.#options.now()))
    return true
  }

  /** Its prompt plays, and may not be interrupted: what the party does until then does not count. */
  #isPlayedThrough({ request, keys }: Collect): boolean {
    return request.playThrough === true && keys.prompting && this.#playback.playing
  }

  /** Keeps a key that nobody waits for, from a party that is alone. While a listener has its words, no collection is to come. */
  typeAhead(key: string): void {
    if (this.#ahead === null || this.#ahead.length >= MAX_AHEAD || this.#hearing.listen !== null) return
    this.#ahead += key
  }

  /** A secret is about to be asked for, and may come before the question. */
  hideKeys(): void {
    this.#typesSecret = true
  }

  /** What the party has typed ahead was for somebody else. */
  forgetAhead(): void {
    if (this.#ahead !== null) this.#ahead = ''
  }

  /** The keys that were typed ahead for this collection. An end of the entry before it comes late, and ends nothing here. */
  #takeAhead({ ahead, terminators, options = [], playThrough }: Request<'leg.collect'>): string {
    if (ahead === 'keep') return ''
    let typed = ahead === 'take' && playThrough !== true ? (this.#ahead ?? '') : ''
    this.#ahead = ''
    const isMeant = (key: string): boolean =>
      options.length > 0 ? key !== '#' || options.some(option => option.startsWith(key)) : !terminators.includes(key)
    while (typed !== '' && !isMeant(typed[0]!)) typed = typed.slice(1)
    return typed
  }

  /** Runs time-outs; `now` [ms]. In a card-payment pause, a collection is suspended: the keys are not for it. */
  tick(now: number, isPaused: boolean): void {
    if (this.#collect === null) return
    if (isPaused) this.#collect.keys.standStill(now)
    else if (!this.#hearsAnswer) this.#end(this.#collect.keys.advance(now))
  }

  /** Somebody is about to answer in words: no time-out interrupts. */
  get #hearsAnswer(): boolean {
    return this.#collect?.request.speech != null && this.#hearing.busy
  }

  #end(result: { digits: string; ended: Events['leg.collected']['ended'] } | null): void {
    if (result !== null) this.#endCollect(result, null)
  }

  #endCollect(
    result: { digits: string; ended: Events['leg.collected']['ended'] },
    utterance: Events['leg.collected']['utterance'],
  ): void {
    if (this.#collect === null) return
    const { legId, collectId, agreement } = this.#collect.request
    const { rest } = this.#collect.keys
    this.#dropCollect()
    this.#playback.stop()
    if (result.ended === 'terminator') this.#ahead ??= ''
    for (const key of rest) this.typeAhead(key)
    if (agreement !== undefined && agreement.digits === result.digits) this.#hooks.agreed(agreement.capture)
    this.#hooks.emit('leg.collected', { legId, collectId, utterance, ...result })
  }

  #dropCollect(): void {
    const collect = this.#collect
    this.#collect = null
    this.#leg.waiter = null
    if (collect !== null) this.#typesSecret = collect.request.sensitive || collect.request.hidesAhead === true
    // The party may be typing on.
    if (collect?.request.sensitive === true) this.#ahead = null
    if (collect?.request.speech != null && this.#hearing.listen === collect.request.speech) this.#listenTo(null)
  }

  // ------------------------------------------------------------------ listening

  listen(spec: ListenSpec): Ok | Failure {
    const unknown = this.#problemWith(spec)
    if (unknown !== null) return unknown
    this.#listenTo(spec)
    return {}
  }

  stopListening(): Ok {
    this.#listenTo(null)
    return {}
  }

  /** Without a listener nobody decides whether interrupted audio continues: it does. */
  #listenTo(listen: ListenSpec | null): void {
    this.#hearing.listenTo(listen, this.#collect?.request.sensitive !== true)
    this.#playback.resume()
  }

  addScribe(scribe: Scribe): void {
    this.#hearing.addScribe(scribe)
  }

  removeScribe(scribe: Scribe): void {
    this.#hearing.removeScribe(scribe)
  }

  /** A card-payment pause has begun or ended. */
  paused(isPaused: boolean): void {
    this.#words.pause(isPaused)
    if (!isPaused) return
    this.#collect?.keys.standStill(this.#options.now())
    this.forgetAhead()
    this.#hearing.forget()
  }

  #problemWith({ language }: ListenSpec): Failure | null {
    if (this.#hearing.understands(language)) return null
    return { failure: 'invalid', message: `no engine here understands ${language}` }
  }

  /** Runs before anything of this tick is played: it fades out in the frame in which voice is detected. */
  #speechStarted(listen: ListenSpec): boolean {
    const bargedIn = listen.bargeIn !== null && this.#playback.playing
    if (bargedIn && listen.bargeIn?.resume === true) this.#playback.pause()
    else if (bargedIn) this.#playback.stop()
    this.#hooks.emit('leg.speech_started', { legId: this.#leg.id, listenId: listen.listenId, bargedIn })
    return bargedIn
  }

  #heard(listen: ListenSpec, words: HeardWords): void {
    if (this.#hearing.listen?.listenId !== listen.listenId) return
    const resumed = this.#settleBargeIn(listen, words.text)
    const { listenId } = listen
    const wallMs = Date.now() - this.#options.now()
    const utterance: Events['leg.utterance']['utterance'] = {
      text: words.text,
      startedAt: new Date(wallMs + words.startMs).toISOString(),
      endedAt: new Date(wallMs + words.endMs).toISOString(),
      endedClockMs: Math.round(words.endMs),
      endpointMs: words.endpointMs,
      transcribeMs: words.transcribeMs,
      bargedIn: words.bargedIn,
      resumed,
      engine: words.engine,
    }
    const collect = this.#collect
    if (collect?.request.speech?.listenId !== listenId) {
      this.#hooks.emit('leg.utterance', { legId: this.#leg.id, listenId, utterance })
    } else if (!resumed && !isWordless(words.text) && !this.#isPlayedThrough(collect)) {
      this.#endCollect({ digits: collect.keys.digits, ended: 'speech' }, utterance)
    } else {
      const now = this.#options.now()
      if (!this.#playback.playing) collect.keys.promptEnded(now)
      collect.keys.rearm(now)
    }
  }

  /** Resumes interrupted audio after a false alarm; returns whether it did. */
  #settleBargeIn({ bargeIn }: ListenSpec, text: string): boolean {
    if (!this.#playback.paused) return false
    const isFalseAlarm = isWordless(text) || isBackChannel(text, bargeIn?.backChannels ?? [])
    // If the party is speaking again, that decides.
    if (isFalseAlarm && this.#hearing.busy) return false
    if (isFalseAlarm) this.#playback.resume()
    else this.#playback.stop()
    return isFalseAlarm
  }

  // ------------------------------------------------------------------ the end

  /** The party moves to another room: what was for it alone ends. */
  leaveRoom(): void {
    this.#dropCollect()
    this.#typesSecret = false
    this.#ahead = ''
    this.#playback.stop()
  }

  /** Idempotent. */
  close(): void {
    this.#dropCollect()
    this.#hearing.close()
    this.#playback.stop()
  }
}
