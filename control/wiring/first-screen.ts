/** Shown some seconds after the banner: the models take long to load, and calls need not wait for them. */
const SPEECH_READY = '  Speech is ready: callers are understood and answered by voice.\n\n'

/** Shows the banner and then that speech is ready, in this order whichever is ready first. */
export class FirstScreen {
  readonly #write: (text: string) => void
  #isShown = false
  #isSpeechReady = false

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  show(banner: string): void {
    this.#write(banner)
    this.#isShown = true
    if (this.#isSpeechReady) this.#write(SPEECH_READY)
  }

  /** Called again after a restart of speech. */
  speechReady(): void {
    this.#isSpeechReady = true
    if (this.#isShown) this.#write(SPEECH_READY)
  }
}
