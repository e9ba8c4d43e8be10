import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { Application, createEncoder } from 'libopus-wasm'
import { Limiter } from '../../../codecs/limiter.ts'
import { OggOpusWriter } from '../../../codecs/packets/ogg-opus.ts'
import { WAV_HEADER_BYTES, wavHeader } from '../../../codecs/wav.ts'
import { createWhole, openRandom, type RandomFile, type WholeFile } from '../../../media/protocol.ts'

/** The form to make of a recording. */
export interface FormJob {
  source: string
  target: string
  layout: 'mono' | 'stereo'
  format: 'wav' | 'ogg'
  /** Key of the recording and of its forms; null: they are not encrypted. */
  key: Uint8Array | null
}

/** The rate at which media writes them. */
const RATE_HZ = 8000
const FRAME_MS = 20
const FRAME_SAMPLES = (RATE_HZ * FRAME_MS) / 1000
/** Where `wavHeader` has the number of channels [bytes]. */
const FMT_CHANNELS_AT = 58
const BITRATE = 16_000
const COMPLEXITY = 5

/** A recording's channels, mixed frame by frame. */
class Mix {
  readonly out: Int16Array
  readonly #file: RandomFile
  readonly #inputs: number
  readonly #outputs: 1 | 2
  readonly #frame: Int16Array
  readonly #sum = new Int32Array(FRAME_SAMPLES)
  readonly #mixed = new Int16Array(FRAME_SAMPLES)
  readonly #limiter = new Limiter()
  #at = 0

  constructor(file: RandomFile, inputs: number, outputs: 1 | 2) {
    this.#file = file
    this.#inputs = inputs
    this.#outputs = outputs
    this.#frame = new Int16Array(FRAME_SAMPLES * inputs)
    this.out = new Int16Array(FRAME_SAMPLES * outputs)
  }

  /** Puts the next frame into `out`; returns its number of samples, 0 at the end. */
  next(): number {
    const bytes = new Uint8Array(this.#frame.buffer)
    this.#frame.fill(0)
    const read = this.#file.read(bytes, WAV_HEADER_BYTES + this.#at)
    this.#at += read
    const samples = Math.floor(read / (2 * this.#inputs))
    this.#mix()
    return samples
  }

  /** Mono: all. Stereo: the call's own party on the left, everybody else on the right. A sum that is too loud is limited. */
  #mix(): void {
    const first = this.#outputs === 1 ? 0 : 1
    for (let i = 0; i < FRAME_SAMPLES; i++) {
      let sum = 0
      for (let n = first; n < this.#inputs; n++) sum += this.#frame[i * this.#inputs + n]!
      this.#sum[i] = sum
    }
    this.#limiter.process(this.#sum, null, this.#mixed)
    for (let i = 0; i < FRAME_SAMPLES; i++) {
      if (this.#outputs === 1) this.out[i] = this.#mixed[i]!
      else {
        this.out[2 * i] = this.#frame[i * this.#inputs]!
        this.out[2 * i + 1] = this.#mixed[i]!
      }
    }
  }
}

async function make({ source, target, layout, format, key }: FormJob): Promise<void> {
  const input = openRandom(source, key)
  const draft = `${target}.new`
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  const output = createWhole(draft, key)
  try {
    const header = new Uint8Array(WAV_HEADER_BYTES)
    input.read(header, 0)
    const inputs = new DataView(header.buffer).getUint16(FMT_CHANNELS_AT, true)
    const channels = layout === 'mono' ? 1 : 2
    const samples = Math.floor((input.size - WAV_HEADER_BYTES) / (2 * inputs))
    const mix = new Mix(input, inputs, channels)
    if (format === 'wav') writeWav(output, mix, { channels, samples })
    else await writeOgg(output, mix, { channels, samples })
    output.finish()
    renameSync(draft, target)
  } finally {
    output.close()
    rmSync(draft, { force: true })
    input.close()
  }
}

function writeWav(file: WholeFile, mix: Mix, { channels, samples }: { channels: 1 | 2; samples: number }): void {
  file.write(wavHeader({ sampleRateHz: RATE_HZ, channels, dataBytes: samples * channels * 2 }))
  for (let read = mix.next(); read > 0; read = mix.next()) {
    file.write(new Uint8Array(mix.out.buffer, 0, read * channels * 2))
  }
}

async function writeOgg(
  file: WholeFile,
  mix: Mix,
  { channels, samples }: { channels: 1 | 2; samples: number },
): Promise<void> {
  const bitrate = BITRATE * channels
  const options = {
    sampleRate: RATE_HZ,
    channels,
    application: Application.Voip,
    bitrate,
    complexity: COMPLEXITY,
  } as const
  const encoder = await createEncoder(options)
  const lookaheadMs = (encoder.getLookahead() / RATE_HZ) * 1000
  const writer = new OggOpusWriter({ channels, sampleRateHz: RATE_HZ, lookaheadMs, serial: 1 })
  file.write(writer.header())
  const lengthMs = (samples / RATE_HZ) * 1000
  // One frame beyond the end, to flush the encoder.
  for (let at = 0; at < lengthMs + lookaheadMs; at += FRAME_MS) {
    if (mix.next() === 0) mix.out.fill(0)
    const page = writer.packet(encoder.encode(mix.out), FRAME_MS)
    if (page !== null) file.write(page)
  }
  file.write(writer.end(lengthMs))
  encoder.free()
}

parentPort?.on('message', (job: FormJob) => {
  make(job).then(
    () => parentPort?.postMessage(null),
    (error: Error) => parentPort?.postMessage(error.message),
  )
})
