import type { Request } from '../protocol.ts'
import { takeEntry } from '../protocol.ts'

/** The rules of `leg.collect` about the end of a collection. */
export type KeyRules = Pick<
  Request<'leg.collect'>,
  'maxDigits' | 'terminators' | 'options' | 'firstDigitTimeoutMs' | 'interDigitTimeoutMs'
>

interface Collected {
  /** Without the terminator. */
  digits: string
  ended: 'terminator' | 'length' | 'timeout'
}

/**
 * Collects the keys of one `leg.collect`. Pure: `now` is monotonic [ms]. While a prompt plays no time-out runs. The first key
 * stops the prompt (`prompting` becomes false, and the owner stops the playback).
 */
export class KeyCollector {
  readonly #rules: KeyRules
  #digits = ''
  /** Null while the prompt plays. */
  #deadline: number | null
  #isOver = false

  /** @param hasPrompt a prompt begins now: time-outs wait for `promptEnded` or a key */
  constructor(rules: KeyRules, hasPrompt: boolean, now: number) {
    this.#rules = rules
    this.#deadline = hasPrompt ? null : now + rules.firstDigitTimeoutMs
  }

  /** The prompt may still play: no key was pressed, and it has not ended. */
  get prompting(): boolean {
    return this.#deadline === null && !this.#isOver
  }

  /** The result was returned; further keys and ticks have no effect. */
  get over(): boolean {
    return this.#isOver
  }

  /** The keys pressed so far. */
  get digits(): string {
    return this.#digits
  }

  /** The keys after the entry, once the collection is over: they were pressed for something else. */
  get rest(): string {
    return this.#hasOptions ? takeEntry(this.#digits, this.#options).rest : ''
  }

  get #options(): readonly string[] {
    return this.#rules.options ?? []
  }

  get #hasOptions(): boolean {
    return this.#options.length > 0
  }

  /** The party was busy with something else: the time-out for the next key restarts, unless a prompt plays. */
  rearm(now: number): void {
    if (this.#deadline === null) return
    this.#deadline = now + (this.#digits === '' ? this.#rules.firstDigitTimeoutMs : this.#rules.interDigitTimeoutMs)
  }

  /** A card-payment pause is on: earlier keys are discarded, and no time-out runs. */
  standStill(now: number): void {
    this.#digits = ''
    this.rearm(now)
  }

  /** The prompt has been heard to its end. No effect after a key. */
  promptEnded(now: number): void {
    this.#deadline ??= now + this.#rules.firstDigitTimeoutMs
  }

  /** A key was pressed; returns the result if it is the last one. */
  key(key: string, now: number): Collected | null {
    if (this.#isOver) return null
    if (this.#rules.terminators.includes(key)) return this.#end('terminator')
    this.#digits += key
    if (this.#hasOptions ? takeEntry(this.#digits, this.#options).isWhole : this.#isFull) return this.#end('length')
    this.#deadline = now + this.#rules.interDigitTimeoutMs
    return null
  }

  /** Returns the result if a time-out has passed; to be called every tick. */
  advance(now: number): Collected | null {
    if (this.#isOver || this.#deadline === null || now < this.#deadline) return null
    return this.#end('timeout')
  }

  get #isFull(): boolean {
    return this.#digits.length >= this.#rules.maxDigits
  }

  #end(ended: Collected['ended']): Collected {
    this.#isOver = true
    return { digits: this.#hasOptions ? takeEntry(this.#digits, this.#options).entry : this.#digits, ended }
  }
}
