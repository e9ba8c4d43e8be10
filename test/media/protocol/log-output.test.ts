import { PassThrough } from 'node:stream'
import * as assert from 'uvu/assert'
import { LogOutput } from '../../../media/protocol/log-output.ts'
import { suite } from '../../harness.ts'

const test = suite('media/protocol/log-output')

/** A log whose reader takes what was written when it is told to. */
function build() {
  let written = ''
  const takes: ((error?: Error) => void)[] = []
  const output = new LogOutput(
    (bytes, done) => {
      takes.push(error => {
        if (error === undefined) written += bytes
        done(error)
      })
    },
    lines => output.write(`${lines} left out\n`),
  )
  const take = async (error?: Error): Promise<void> => {
    takes.shift()!(error)
    await new Promise(setImmediate)
  }
  return { output, take, written: () => written, waiting: () => takes.length }
}

test('of what a reader that stands still does not take, one megabyte waits; the next line says how many are left out', async () => {
  const { output, take, written } = build()
  const line = `${'x'.repeat(1023)}\n`
  for (let i = 0; i < 1030; i++) output.write(line)
  await take()
  await take()
  assert.is(written(), `${line.repeat(1024)}6 left out\n`)
})

test('lines that cannot be written are left out, and the first that can be is followed by their number', async () => {
  const { output, take, written, waiting } = build()
  output.write('a\n')
  await take(new Error('ENOSPC'))
  output.write('b\nc\n')
  await take(new Error('ENOSPC'))
  output.write('d\n')
  await take()
  await take()
  assert.is(written(), 'd\n3 left out\n')
  assert.is(waiting(), 0)
})

test('what children write arrives in whole lines, whatever pieces it comes in, and the end waits for it', async () => {
  const { output, take, written } = build()
  const [one, other] = [new PassThrough(), new PassThrough()]
  output.relay(one)
  output.relay(other)
  one.write('one, ')
  other.write('other\nand ')
  one.write('whole\n')
  await new Promise(setImmediate)
  const settled = output.settled()
  other.end('more\nlast words')
  one.end()
  for (let i = 0; i < 3; i++) await new Promise(setImmediate)
  await take()
  await take()
  await settled
  assert.equal(written().split('\n').sort(), ['', 'and more', 'last words', 'one, whole', 'other'])
})

test.run()
