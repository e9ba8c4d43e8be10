import type { Request } from '../protocol.ts'

/** What ends a collection; the rules of `leg.collect`. */
export type KeyRules = Pick<
  Request<'leg.collect'>,
  'maxDigits' | 'terminators' | 'firstDigitTimeoutMs' | 'interDigitTimeoutMs'
>

export interface Collected {
  /** Without the terminator. */
  digits: string
  ended: 'terminator' | 'length' | 'timeout'
}

/**
 * Collects the keys of one `leg.collect`. Pure: `now` is monotonic [ms]. While a prompt plays no time-out runs; the first key
 * stops the prompt (`prompting` turns false, and the owner stops what plays).
 */
export class KeyCollector {
  readonly #rules: KeyRules
  #digits = ''
  /** Null while the prompt plays. */
  #deadline: number | null
  #isOver = false

  /** @param hasPrompt a prompt begins now: time-outs wait for `promptEnded` or for a key */
  constructor(rules: KeyRules, hasPrompt: boolean, now: number) {
    this.#rules = rules
    this.#deadline = hasPrompt ? null : now + rules.firstDigitTimeoutMs
  }

  /** The prompt may still be heard: no key was pressed and it has not ended. */
  get prompting(): boolean {
    return this.#deadline === null && !this.#isOver
  }

  /** The result was given out; further keys and ticks do nothing. */
  get over(): boolean {
    return this.#isOver
  }

  /** What was pressed so far. */
  get digits(): string {
    return this.#digits
  }

  /** Something else held the party up: the time-out for the next key begins again, unless a prompt plays. */
  rearm(now: number): void {
    if (this.#deadline === null) return
    this.#deadline = now + (this.#digits === '' ? this.#rules.firstDigitTimeoutMs : this.#rules.interDigitTimeoutMs)
  }

  /** A card-payment pause is on: nothing that was typed is kept, and no time-out runs. */
  standStill(now: number): void {
    this.#digits = ''
    this.rearm(now)
  }

  /** The prompt was heard to its end. Without meaning after a key. */
  promptEnded(now: number): void {
    this.#deadline ??= now + this.#rules.firstDigitTimeoutMs
  }

  /** A key was pressed; the result when it is the last one. */
  key(key: string, now: number): Collected | null {
    if (this.#isOver) return null
    if (this.#rules.terminators.includes(key)) return this.#end('terminator')
    this.#digits += key
    if (this.#digits.length >= this.#rules.maxDigits) return this.#end('length')
    this.#deadline = now + this.#rules.interDigitTimeoutMs
    return null
  }

  /** The result when a time-out has passed; call it every tick. */
  advance(now: number): Collected | null {
    if (this.#isOver || this.#deadline === null || now < this.#deadline) return null
    return this.#end('timeout')
  }

  #end(ended: Collected['ended']): Collected {
    this.#isOver = true
    return { digits: this.#digits, ended }
  }
}
