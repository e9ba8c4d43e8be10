import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tone } from '../../../bench/voices.ts'
import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { PCMA } from '../../../codecs/g711.ts'

/** A directory with `tone.pcma`, which SIPp's scenario `rtp-tone` repeats: one second, so that it has whole periods of an integer `hz`. */
export function toneDirectory(hz: number): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'tone-'))
  const samples = new Int16Array(NARROWBAND_HZ)
  tone(hz)(samples)
  const octets = new Uint8Array(samples.length)
  PCMA.encode(samples, octets)
  writeFileSync(join(path, 'tone.pcma'), octets)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
