/**
 * The audio thread's side of a call: 'mic' makes frames of 20 ms at 16 kHz out of what the microphone gives, 'speaker' plays the
 * frames that come, at whatever rate the machine has. Frames are Int16Array(320).
 */
const WIRE_HZ = 16000
const FRAME = 320
/** Zero crossings of the sinc on each side, and table steps between two. */
const CROSSINGS = 16
const STEPS = 256

/** Converts a stream from one sample rate to another by a windowed sinc; what is pushed comes out a few milliseconds later. */
class Resampler {
  constructor(from, to) {
    this.step = from / to
    // Below the lower of the two Nyquist frequencies nothing folds back.
    this.cutoff = Math.min(1, to / from) * 0.94
    this.half = Math.ceil(CROSSINGS / this.cutoff)
    this.table = new Float32Array(CROSSINGS * STEPS + 2)
    for (let i = 0; i < this.table.length; i++) {
      const x = i / STEPS
      const window = 0.5 + 0.5 * Math.cos((Math.PI * Math.min(x, CROSSINGS)) / CROSSINGS)
      this.table[i] = (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)) * window
    }
    this.input = new Float32Array(0)
    this.length = 0
    /** Of the next output sample, in the input. */
    this.at = 0
    this.push(new Float32Array(this.half))
    this.at = this.half
  }

  push(samples) {
    const from = Math.max(0, Math.floor(this.at) - this.half)
    if (this.length - from + samples.length > this.input.length) {
      const grown = new Float32Array(2 * (this.length - from + samples.length))
      grown.set(this.input.subarray(from, this.length))
      this.input = grown
    } else this.input.copyWithin(0, from, this.length)
    this.length -= from
    this.at -= from
    this.input.set(samples, this.length)
    this.length += samples.length
  }

  /** Samples that `pull` has ready. */
  get ready() {
    return Math.max(0, Math.floor((this.length - 1 - this.half - this.at) / this.step) + 1)
  }

  /** The next sample. */
  pull() {
    const first = Math.ceil(this.at - this.half)
    const last = Math.floor(this.at + this.half)
    let sum = 0
    for (let k = Math.max(0, first); k <= last; k++) {
      const x = Math.abs(k - this.at) * this.cutoff * STEPS
      if (x < CROSSINGS * STEPS) {
        const i = x | 0
        sum += this.input[k] * (this.table[i] + (this.table[i + 1] - this.table[i]) * (x - i))
      }
    }
    this.at += this.step
    return sum * this.cutoff
  }
}

class Mic extends AudioWorkletProcessor {
  constructor() {
    super()
    this.resampler = new Resampler(sampleRate, WIRE_HZ)
    this.frame = new Int16Array(FRAME)
    this.filled = 0
  }

  process([input]) {
    const samples = input[0]
    if (samples === undefined) return true
    this.resampler.push(samples)
    for (let ready = this.resampler.ready; ready > 0; ready--) {
      const value = Math.max(-1, Math.min(1, this.resampler.pull()))
      this.frame[this.filled++] = Math.round(value * 32767)
      if (this.filled < FRAME) continue
      this.port.postMessage(this.frame)
      this.filled = 0
    }
    return true
  }
}

/** Frames that wait before sound begins at least, at most, and beyond which the oldest are left out. */
const LEAST = 3
const MOST = 10
const TOO_MANY = 20

class Speaker extends AudioWorkletProcessor {
  constructor() {
    super()
    this.resampler = new Resampler(WIRE_HZ, sampleRate)
    this.waiting = []
    this.target = LEAST
    this.playing = false
    this.port.onmessage = ({ data }) => {
      if (data === 'clear') this.waiting = []
      else this.waiting.push(data)
      if (this.waiting.length > TOO_MANY) this.waiting.splice(0, this.waiting.length - this.target)
    }
  }

  process(_inputs, [output]) {
    const out = output[0]
    if (!this.playing && this.waiting.length < this.target) return true
    this.playing = true
    for (let i = 0; i < out.length; i++) {
      if (this.resampler.ready === 0 && !this.feed()) {
        this.playing = false
        this.target = Math.min(MOST, this.target + 1)
        break
      }
      out[i] = this.resampler.pull()
    }
    for (let channel = 1; channel < output.length; channel++) output[channel].set(out)
    return true
  }

  feed() {
    const frame = this.waiting.shift()
    if (frame === undefined) return false
    const samples = new Float32Array(frame.length)
    for (let i = 0; i < frame.length; i++) samples[i] = frame[i] / 32768
    this.resampler.push(samples)
    return true
  }
}

registerProcessor('mic', Mic)
registerProcessor('speaker', Speaker)
