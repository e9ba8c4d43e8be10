import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { resampleAll } from '../../codecs/resample.ts'
import { readWav } from '../../codecs/wav.ts'

/** A WAV file below a folder, of whose channels the first is taken, at 8 kHz. */
interface Recording {
  /** Relative to the folder. */
  path: string
  samples: Int16Array
}

/** Reads all WAV files below a folder, in the order of their names. @throws Error one cannot be read, or there are none */
export async function* recordings(folder: string): AsyncGenerator<Recording> {
  const paths = existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(path => /\.wav$/i.test(path))
    : []
  if (paths.length === 0) throw new Error(`--recordings: there is no WAV file below ${folder}`)
  for (const path of paths.sort()) {
    const wav = readWav(readFileSync(join(folder, path)))
    if ('error' in wav) throw new Error(`--recordings: ${path} cannot be read (${wav.error})`)
    yield { path, samples: await resampleAll(wav.samples[0]!, wav.sampleRateHz, NARROWBAND_HZ) }
  }
}
