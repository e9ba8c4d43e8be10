import * as fc from 'fast-check'
import * as assert from 'uvu/assert'
import { sentencesOf } from '../../../../media/speech/hearing/sentences.ts'
import { isBackChannel, isWordless } from '../../../../media/speech/hearing/words.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/speech/hearing/sentences')

test('a text is spoken sentence by sentence', () => {
  assert.equal(sentencesOf('Your call is important to us. We will be with you shortly! Is that all right?'), [
    'Your call is important to us.',
    'We will be with you shortly!',
    'Is that all right?',
  ])
})

test('marks of other scripts end a sentence, those of scripts without spaces without one', () => {
  assert.equal(
    sentencesOf('「ご予約は明日の午後三時ですね？」少々お待ちいただけますでしょうか。担当者におつなぎいたします。'),
    ['「ご予約は明日の午後三時ですね？」', '少々お待ちいただけますでしょうか。', '担当者におつなぎいたします。'],
  )
  assert.equal(sentencesOf('هل تريد تحديد موعد؟ سأحولك الآن إلى زميلي.'), [
    'هل تريد تحديد موعد؟',
    'سأحولك الآن إلى زميلي.',
  ])
  assert.ok(sentencesOf(`${'我们'.repeat(100)}，${'请您'.repeat(100)}`)[0]!.endsWith('，'))
})

test('a title, an initial or a figure is no end, and a short answer stays with what follows', () => {
  assert.equal(sentencesOf('Yes. Dr. Smith will see you at 3.30 in the afternoon. J. Doe is away.'), [
    'Yes. Dr. Smith will see you at 3.30 in the afternoon.',
    'J. Doe is away.',
  ])
})

test('a sentence that does not end is cut at a comma, else at a space', () => {
  const long = `${'word '.repeat(50)}here, ${'more '.repeat(50)}`
  const pieces = sentencesOf(long)
  assert.ok(pieces[0]!.endsWith('here,'))
  assert.ok(pieces.every(piece => piece.length <= 300))
})

test('the pieces are the text again, whatever it is', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', '.', '!', ' ', '\n', 'Dr', ',', 'é', '。', '」'), maxLength: 900 }),
      text => {
        const pieces = sentencesOf(text)
        assert.is(pieces.join(' ').replace(/\s+/g, ''), text.replace(/\s+/g, ''))
        assert.ok(pieces.every(piece => piece.length > 0 && piece.length <= 300))
      },
    ),
    { seed: 7, numRuns: 300 },
  )
})

test('a back-channel is known however it is written', () => {
  for (const said of ['Mm-hm.', 'mm hm', ' MMHM ']) assert.ok(isBackChannel(said, ['yes', 'mm-hm']), said)
  assert.not(isBackChannel('mm-hm, but', ['mm-hm']))
  assert.not(isBackChannel('yes', []))
})

test('a text without letters and digits has no words', () => {
  for (const text of ['', ' ', '…', '. ?']) assert.ok(isWordless(text))
  assert.not(isWordless('7'))
})

test('a text without any space is not cut within a character', () => {
  const text = `x${'👍'.repeat(400)}`
  const pieces = sentencesOf(text)
  assert.is(pieces.join(''), text)
  assert.ok(pieces.every(piece => piece.length <= 300 && !/\p{Surrogate}/u.test(piece)))
})

test.run()
