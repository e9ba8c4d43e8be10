const CONSTRAINTS = {
  audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 },
}
/** What is below is shown as nothing, what is above as all [dB of full scale]. */
const QUIET_DB = -60
const LOUD_DB = -6
const RING = { highHz: 480, lowHz: 400, onS: 1, everyS: 3, gain: 0.08 }

/** The microphone and the loudspeaker of a page. Must be opened by a click, or the browser keeps it silent. */
export class Sound {
  /** Gets each frame of 20 ms at 16 kHz that the microphone has made; silent while muted. */
  onFrame = () => {}
  #muted = false
  /** Of others, where they come by WebRTC: what plays them, and what tells how loud they are. */
  #player = null
  #analyser = null
  /** How loud the microphone is, 0 to 1. */
  level = 0
  #heard = 0

  /** Throws what `getUserMedia` throws: no microphone, or no permission. */
  static async open() {
    const stream = await microphone()
    const context = new AudioContext({ latencyHint: 'interactive' })
    await context.audioWorklet.addModule('/calls/sound-worklet.js')
    return new Sound(context, stream)
  }

  constructor(context, stream) {
    this.context = context
    this.stream = stream
    const mic = new AudioWorkletNode(context, 'mic', {
      numberOfOutputs: 0,
      channelCount: 1,
      channelCountMode: 'explicit',
    })
    this.speaker = new AudioWorkletNode(context, 'speaker', { numberOfInputs: 0, outputChannelCount: [1] })
    context.createMediaStreamSource(stream).connect(mic)
    this.speaker.connect(context.destination)
    mic.port.onmessage = ({ data }) => this.#spoke(data)
    void context.resume()
  }

  #spoke(frame) {
    if (this.#muted) frame.fill(0)
    this.level = Math.max(loudness(frame), this.level * 0.85)
    this.onFrame(frame)
  }

  get muted() {
    return this.#muted
  }

  set muted(isMuted) {
    this.#muted = isMuted
    this.track.enabled = !isMuted
  }

  /** Without a loudspeaker Firefox runs no audio, not even that of the microphone. */
  get isRunning() {
    return this.context.state === 'running'
  }

  /** What the microphone says. */
  get track() {
    return this.stream.getAudioTracks()[0]
  }

  /** How loud the others are, 0 to 1. */
  get heard() {
    if (this.#analyser !== null) {
      const samples = new Float32Array(this.#analyser.fftSize)
      this.#analyser.getFloatTimeDomainData(samples)
      const frame = samples.map(sample => sample * 32768)
      this.#heard = Math.max(loudness(frame), this.#heard * 0.85)
    }
    return this.#heard
  }

  /** Plays a stream, in the place of the one before; null: none. */
  hear(stream) {
    if (this.#player !== null) this.#player.srcObject = null
    this.#analyser?.disconnect()
    this.#player = null
    this.#analyser = null
    if (stream === null) return
    this.#player = Object.assign(new Audio(), { srcObject: stream, autoplay: true })
    this.#analyser = new AnalyserNode(this.context, { fftSize: 1024 })
    this.context.createMediaStreamSource(stream).connect(this.#analyser)
  }

  play(frame) {
    this.#heard = Math.max(loudness(frame), this.#heard * 0.85)
    this.speaker.port.postMessage(frame)
  }

  clear() {
    this.speaker.port.postMessage('clear')
  }

  /** Rings until the function that it returns is called. */
  ring() {
    const { context } = this
    const gain = new GainNode(context, { gain: 0 })
    const tones = [RING.highHz, RING.lowHz].map(frequency => new OscillatorNode(context, { frequency }))
    for (const tone of tones) {
      tone.connect(gain)
      tone.start()
    }
    gain.connect(context.destination)
    const burst = () => {
      gain.gain.setTargetAtTime(RING.gain, context.currentTime, 0.02)
      gain.gain.setTargetAtTime(0, context.currentTime + RING.onS, 0.02)
    }
    burst()
    const timer = setInterval(burst, RING.everyS * 1000)
    return () => {
      clearInterval(timer)
      for (const tone of tones) tone.stop()
      gain.disconnect()
    }
  }

  close() {
    this.hear(null)
    for (const track of this.stream.getTracks()) track.stop()
    void this.context.close()
  }
}

/** From 0, silence, to 1, as loud as it gets. */
function loudness(frame) {
  let power = 0
  for (const sample of frame) power += sample * sample
  const db = 10 * Math.log10(power / frame.length / 32768 ** 2 + 1e-10)
  return Math.max(0, Math.min(1, (db - QUIET_DB) / (LOUD_DB - QUIET_DB)))
}

/** Why there is no microphone, for people. */
function problemOf(error) {
  if (error.name === 'NotAllowedError')
    return 'The browser does not let this page use the microphone. Allow it, then try again.'
  // WebKit says of what is not there that it does not meet the constraints, though we demand none.
  if (error.name === 'NotFoundError' || error.name === 'OverconstrainedError')
    return 'No microphone was found. Connect one, then try again.'
  if (error.name === 'SecurityError') return 'Browsers give the microphone to https:// pages and to this machine only.'
  return `The microphone cannot be used: ${error.message}`
}

async function microphone() {
  try {
    if (navigator.mediaDevices === undefined) throw new DOMException('not a secure address', 'SecurityError')
    return await navigator.mediaDevices.getUserMedia(CONSTRAINTS)
  } catch (error) {
    throw new Error(problemOf(error))
  }
}
