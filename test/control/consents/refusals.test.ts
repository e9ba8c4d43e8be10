import * as assert from 'uvu/assert'
import { asksNotToBeCalled, asksNotToBeRecorded } from '../../../control/consents/refusals.ts'
import { suite } from '../../harness.ts'

const test = suite('control/consents/refusals')

/** Sentences by language: what asks not to be called again, and what only sounds like it. */
type Labelled = readonly [language: string, asks: readonly string[], asksNot: readonly string[]]

/** Looked at while the patterns were written. */
const SEEN: readonly Labelled[] = [
  [
    'en',
    [
      'Do not call me again.',
      "Please don't call me anymore.",
      'Stop calling me!',
      'Take me off your list.',
      "I don't want you to call me again, okay?",
      'Never call this number again.',
      'Put my number on the do not call list, please.',
      'I told you not to call me.',
    ],
    [
      "Don't call me before five.",
      'Why did you not call me again?',
      'Call me again tomorrow.',
      "Don't call me at work.",
      'They never call me back.',
      "Please don't take me off your list.",
      'You did not call me again.',
      'If you do not call me by Friday I will go elsewhere.',
      'I do not want to miss your call.',
    ],
  ],
  [
    'he',
    ['אל תתקשרו אליי יותר.', 'תפסיקו להתקשר אליי!', 'תסירו אותי מהרשימה.'],
    ['אל תתקשרו אליי לפני חמש.', 'למה לא התקשרתם אליי?', 'תתקשרו אליי מחר.'],
  ],
  [
    'es',
    ['No me llame más.', 'Deje de llamarme.', 'Quíteme de su lista.'],
    ['No me llame antes de las cinco.', 'Llámeme mañana.'],
  ],
  [
    'fr',
    ['Ne me rappelez plus.', "Arrêtez de m'appeler !", 'Retirez mon numéro de votre liste.'],
    ['Ne me rappelez pas avant midi.', 'Rappelez-moi demain.'],
  ],
  [
    'de',
    ['Rufen Sie mich nicht mehr an.', 'Hören Sie auf, mich anzurufen!', 'Streichen Sie mich von Ihrer Liste.'],
    ['Rufen Sie mich nicht vor acht an.', 'Sie haben mich nicht angerufen.'],
  ],
  ['pt', ['Não me ligue mais.', 'Parem de me ligar.'], ['Não me ligue antes das nove.', 'Ligue-me amanhã.']],
  ['it', ['Non mi chiami più.', 'Smettetela di chiamarmi.'], ['Non mi chiami prima delle nove.', 'Mi chiami domani.']],
]

/** Written down before, and not looked at. */
const HELD: readonly Labelled[] = [
  [
    'en',
    [
      'Quit bothering us.',
      'Remove my number from your database, thank you.',
      "We don't want any more calls.",
      "Listen, don't ever call here again.",
      'Lose my number.',
      'I no longer wish to be contacted.',
      'No more calls, please.',
      "I don't want to be called anymore.",
    ],
    [
      'Do not call me after nine in the evening.',
      'There were no more calls.',
      "He didn't call me again after that.",
      'When will you call me again?',
      "I can't stop calling you.",
      "Don't call my office, use the mobile.",
      'I want to be on your list.',
      "Don't hang up, I'll call you again.",
    ],
  ],
  ['he', ['אני לא רוצה שתתקשרו אליי.', 'אל תתקשר יותר.'], ['אל תתקשרו בשבת.', 'אני לא יכול להתקשר אליכם.']],
  [
    'es',
    ['No quiero que me llamen más.', 'No vuelvan a llamarme.'],
    ['No me llamen los domingos.', 'No me han llamado.'],
  ],
  [
    'fr',
    ['Je ne veux plus être appelé.', 'Ne nous appelez plus jamais.'],
    ['Vous ne me rappelez jamais.', 'Ne quittez pas.'],
  ],
  [
    'de',
    ['Ich möchte keine Anrufe mehr.', 'Rufen Sie hier nie wieder an!'],
    ['Rufen Sie mich morgen an.', 'Rufen Sie mich nicht im Büro an.'],
  ],
  ['pt', ['Não quero receber mais chamadas.', 'Tire-me da vossa lista.'], ['Não me ligaram.', 'Não ligue hoje.']],
  [
    'it',
    ['Non voglio più ricevere chiamate.', 'Toglietemi dalla lista.'],
    ['Non mi avete chiamato.', 'Non mi chiami al lavoro.'],
  ],
]

const wrong = (all: readonly Labelled[]): string[] =>
  all.flatMap(([, asks, asksNot]) => [
    ...asks.filter(text => !asksNotToBeCalled(text)).map(text => `missed: ${text}`),
    ...asksNot.filter(text => asksNotToBeCalled(text)).map(text => `taken for it: ${text}`),
  ])

const count = (all: readonly Labelled[]): number =>
  all.reduce((sum, [, asks, not]) => sum + asks.length + not.length, 0)

test('whoever asks not to be called again is understood in seven languages, and nothing else is taken for it', () => {
  assert.equal(wrong(SEEN), [])
})

test('so are sentences that nobody looked at: nothing is taken for it, and at most one in ten is missed', () => {
  const faults = wrong(HELD)
  assert.equal(
    faults.filter(fault => fault.startsWith('taken')),
    [],
  )
  assert.ok(faults.length <= count(HELD) / 10, faults.join('\n'))
})

test('it is understood in capitals, without marks, and amid other words', () => {
  assert.ok(asksNotToBeCalled('DO NOT CALL ME AGAIN'))
  assert.ok(asksNotToBeCalled("Look, I'm busy, and I have said it before: don't call me again. Goodbye."))
  assert.not.ok(asksNotToBeCalled(''))
})

/** What asks not to be recorded; and what does not. */
const RECORDED: readonly Labelled[] = [
  [
    'en',
    [
      'Please do not record me.',
      'Stop recording!',
      'Could you stop recording this call, please?',
      "I don't want to be recorded.",
      "I don't want this call to be recorded.",
      'Turn off the recording now.',
      'I would rather not be recorded.',
      'I do not consent to being recorded.',
      'I withdraw my consent.',
    ],
    [
      'Why did you stop recording?',
      "Don't stop recording, I want to have that.",
      'Is this call recorded?',
      'When will you stop recording?',
      'They did not record me.',
      'You do not record me, do you?',
      'I cannot stop recording my songs.',
      'Do not record my album before May.',
      'I do not want to record an album.',
    ],
  ],
  [
    'he',
    ['אל תקליטו אותי.', 'תפסיקו להקליט!', 'אני לא רוצה שתקליטו אותי.'],
    ['האם השיחה מוקלטת?', 'הקלטתי אתכם אתמול.'],
  ],
  [
    'es',
    ['No me graben.', 'Deje de grabar la llamada.', 'No quiero que me graben.'],
    ['¿Graban esta llamada?', 'No me grabaron ayer.'],
  ],
  [
    'fr',
    ["Ne m'enregistrez pas.", "Arrêtez d'enregistrer.", 'Je ne veux pas être enregistrée.'],
    ["Vous ne m'enregistrez pas ?", "L'appel est enregistré ?"],
  ],
  [
    'de',
    [
      'Nehmen Sie das Gespräch nicht auf.',
      'Ich möchte nicht aufgezeichnet werden.',
      'Ich will nicht, dass Sie mich aufnehmen.',
    ],
    ['Nehmen Sie das Gespräch auf?', 'Nehmen Sie mich nicht in die Liste auf?'],
  ],
  [
    'pt',
    ['Não me gravem.', 'Parem de gravar.', 'Não quero ser gravada.'],
    ['Esta chamada é gravada?', 'Não me gravaram.'],
  ],
  [
    'it',
    ['Non mi registrate.', 'Smettetela di registrare.', 'Non voglio essere registrato.'],
    ['La chiamata è registrata?', 'Non mi avete registrato.'],
  ],
]

test('whoever asks not to be recorded is understood in seven languages; nothing else is taken for it, and neither wish for the other', () => {
  const faults = RECORDED.flatMap(([, asks, not]) => [
    ...asks.filter(text => !asksNotToBeRecorded(text)).map(text => `missed: ${text}`),
    ...not.filter(text => asksNotToBeRecorded(text)).map(text => `taken for it: ${text}`),
    ...asks.filter(text => asksNotToBeCalled(text)).map(text => `taken for the other: ${text}`),
  ])
  const others = [...SEEN, ...HELD].flatMap(([, asks]) => asks.filter(text => asksNotToBeRecorded(text)))
  assert.equal([...faults, ...others], [])
})

test.run()
