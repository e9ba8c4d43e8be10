import * as assert from 'uvu/assert'
import { passagesOf, readText } from '../../../control/knowledge/passages.ts'
import { suite } from '../../harness.ts'

const test = suite('control/knowledge/passages')

test('short paragraphs share a passage, and no paragraph that fits is cut', () => {
  const a = 'a'.repeat(600)
  assert.equal(passagesOf(`One.\r\n\r\n\r\nTwo.`), ['One.\n\nTwo.'])
  assert.equal(passagesOf(`${a}\n\n${a}`), [a, a])
})

test('a long paragraph is cut between sentences, a long sentence between words, a long word anywhere', () => {
  const sentence = `${'word '.repeat(100).trim()}.`
  assert.equal(passagesOf([sentence, sentence, sentence].join(' ')), [sentence, sentence, sentence])
  const words = passagesOf('abcd '.repeat(600))
  assert.ok(words.every(passage => passage.length <= 1000 && /^abcd( abcd)*$/.test(passage)))
  assert.equal(
    passagesOf('x'.repeat(2500)).map(passage => passage.length),
    [1000, 1000, 500],
  )
})

test('no word of a text is lost', () => {
  const text = Array.from(
    { length: 5000 },
    (_, i) => `w${i}${i % 7 === 0 ? '.' : ''}${i % 91 === 0 ? '\n\n' : ' '}`,
  ).join('')
  const words = (part: string): string[] => part.match(/w\d+/g) ?? []
  assert.equal(passagesOf(text).flatMap(words), words(text))
})

test('a byte order mark is no part of the text', () => {
  assert.equal(readText(Buffer.from('\ufeffHello')), { text: 'Hello' })
})

test.run()
