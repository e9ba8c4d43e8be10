import type { PlaySource } from '../../media/protocol.ts'
import type { LanguageCode } from './languages.ts'

/** The product's own phrases, which no user wrote: for assistants, flows and queues. */
export interface Phrases {
  /** While something takes time. */
  filler: string
  stillThere: string
  goodbye: string
  apology: string
  /** To a person who has asked not to be called again. */
  notCalledAgain: string
  /** Before the tone of a voicemail. */
  leaveMessage: string
  /** After it, to a caller without a required consent to be recorded. */
  messageRecorded: string
  /** To a caller who pressed the key for a callback. */
  callBack: string
  /** The queue position: of the next caller, and of the others. */
  next: string
  position: (place: number) => string
  /** Asks a caller to consent to recording; `key` is the spoken name of the key. */
  consent: (key: string) => string
  /** Names of the keys that are not digits. */
  star: string
  hash: string
}

const PHRASES: Readonly<Record<LanguageCode, Phrases>> = {
  en: {
    filler: 'One moment, please.',
    stillThere: 'Are you still there?',
    goodbye: 'Thank you for calling. Goodbye.',
    apology: 'I am sorry, I cannot help you right now.',
    notCalledAgain: 'You will not be called again.',
    leaveMessage: 'Please leave a message after the tone. Press any key when you are done.',
    messageRecorded: 'Your message is recorded.',
    callBack: 'We will call you back.',
    next: 'You are next in line.',
    position: place => `You are number ${place} in line.`,
    consent: key => `This call may be recorded. Press ${key} to agree.`,
    star: 'star',
    hash: 'hash',
  },
  he: {
    filler: 'רק רגע, בבקשה.',
    stillThere: 'האם אתם עדיין על הקו?',
    goodbye: 'תודה שהתקשרתם. להתראות.',
    apology: 'אני מצטער, איני יכול לעזור כרגע.',
    notCalledAgain: 'לא נתקשר אליכם יותר.',
    leaveMessage: 'נא להשאיר הודעה לאחר הצליל. בסיום הקישו על מקש כלשהו.',
    messageRecorded: 'ההודעה שלכם מוקלטת.',
    callBack: 'נתקשר אליכם בחזרה.',
    next: 'אתם הבאים בתור.',
    position: place => `אתם במקום ${place} בתור.`,
    consent: key => `ייתכן שהשיחה תוקלט. הקישו ${key} כדי להסכים.`,
    star: 'כוכבית',
    hash: 'סולמית',
  },
  es: {
    filler: 'Un momento, por favor.',
    stillThere: '¿Sigue usted ahí?',
    goodbye: 'Gracias por su llamada. Adiós.',
    apology: 'Lo siento, en este momento no puedo ayudarle.',
    notCalledAgain: 'No volveremos a llamarle.',
    leaveMessage: 'Deje un mensaje después de la señal. Pulse cualquier tecla cuando termine.',
    messageRecorded: 'Su mensaje quedará grabado.',
    callBack: 'Le devolveremos la llamada.',
    next: 'Usted es el siguiente en la cola.',
    position: place => `Usted ocupa el lugar ${place} en la cola.`,
    consent: key => `Esta llamada puede ser grabada. Pulse ${key} para aceptar.`,
    star: 'asterisco',
    hash: 'almohadilla',
  },
  fr: {
    filler: 'Un instant, s’il vous plaît.',
    stillThere: 'Êtes-vous toujours là ?',
    goodbye: 'Merci de votre appel. Au revoir.',
    apology: 'Je suis désolé, je ne peux pas vous aider pour le moment.',
    notCalledAgain: 'Nous ne vous appellerons plus.',
    leaveMessage: 'Veuillez laisser un message après le signal sonore. Appuyez sur une touche quand vous avez terminé.',
    messageRecorded: 'Votre message est enregistré.',
    callBack: 'Nous vous rappellerons.',
    next: 'Votre appel est le prochain.',
    position: place => `Vous êtes en position ${place} dans la file d’attente.`,
    consent: key => `Cet appel peut être enregistré. Appuyez sur ${key} pour accepter.`,
    star: 'étoile',
    hash: 'dièse',
  },
  de: {
    filler: 'Einen Moment, bitte.',
    stillThere: 'Sind Sie noch da?',
    goodbye: 'Vielen Dank für Ihren Anruf. Auf Wiederhören.',
    apology: 'Es tut mir leid, ich kann Ihnen im Moment nicht helfen.',
    notCalledAgain: 'Wir rufen Sie nicht mehr an.',
    leaveMessage:
      'Bitte hinterlassen Sie eine Nachricht nach dem Ton. Drücken Sie eine beliebige Taste, wenn Sie fertig sind.',
    messageRecorded: 'Ihre Nachricht wird aufgezeichnet.',
    callBack: 'Wir rufen Sie zurück.',
    next: 'Sie sind als Nächster an der Reihe.',
    position: place => `Sie sind auf Platz ${place} der Warteschlange.`,
    consent: key => `Dieser Anruf wird möglicherweise aufgezeichnet. Drücken Sie die ${key}, um zuzustimmen.`,
    star: 'Sterntaste',
    hash: 'Rautetaste',
  },
  pt: {
    filler: 'Um momento, por favor.',
    stillThere: 'Ainda está aí?',
    goodbye: 'Obrigado pela sua chamada. Adeus.',
    apology: 'Lamento, neste momento não posso ajudar.',
    notCalledAgain: 'Não voltaremos a ligar-lhe.',
    leaveMessage: 'Deixe uma mensagem após o sinal. Prima qualquer tecla quando terminar.',
    messageRecorded: 'A sua mensagem será gravada.',
    callBack: 'Vamos ligar-lhe de volta.',
    next: 'A sua chamada é a próxima.',
    position: place => `Está na posição ${place} da fila.`,
    consent: key => `Esta chamada pode ser gravada. Prima ${key} para aceitar.`,
    star: 'asterisco',
    hash: 'cardinal',
  },
  it: {
    filler: 'Un momento, per favore.',
    stillThere: 'È ancora in linea?',
    goodbye: 'Grazie per la chiamata. Arrivederci.',
    apology: 'Mi dispiace, al momento non posso aiutarla.',
    notCalledAgain: 'Non la chiameremo più.',
    leaveMessage: 'Lasci un messaggio dopo il segnale acustico. Prema un tasto qualsiasi quando ha finito.',
    messageRecorded: 'Il suo messaggio viene registrato.',
    callBack: 'La richiameremo.',
    next: 'Lei è il prossimo in coda.',
    position: place => `Lei è al numero ${place} della coda.`,
    consent: key => `Questa chiamata può essere registrata. Prema ${key} per accettare.`,
    star: 'asterisco',
    hash: 'cancelletto',
  },
}

/** The language by the first part of its tag; English if it is unknown or missing. */
const codeOf = (language: string | null): LanguageCode => {
  const code = (language ?? 'en').split('-')[0]!.toLowerCase()
  return code in PHRASES ? (code as LanguageCode) : 'en'
}

export const phrasesOf = (language: string | null): Phrases => PHRASES[codeOf(language)]

/** The recordings of phrases in `fixtures/prompts`, for languages without a voice. */
export const RECORDED = {
  filler: 'one-moment',
  stillThere: 'still-there',
  goodbye: 'thanks-goodbye',
  apology: 'apology',
  notCalledAgain: 'not-called-again',
  leaveMessage: 'leave-message',
  messageRecorded: 'message-recorded',
  callBack: 'call-back',
  next: 'next-in-line',
} as const satisfies Partial<Record<keyof Phrases, string>>

export type FixedPhrase = keyof typeof RECORDED
/** Queue positions that are recorded; callers further back hear that there are at least so many. */
export const RECORDED_PLACES = 20

export interface Speaker {
  voice: string | null
  language: string | null
  /** Absent: 1, the voice's own speed. */
  speed?: number
}

/** A phrase as audio: spoken by the voice, otherwise the recording. */
export const phrase = (name: FixedPhrase, speaker: Speaker): PlaySource =>
  spoken(phrasesOf(speaker.language)[name], [RECORDED[name]], speaker)

/** The caller's queue position. */
export function placePhrase(place: number, speaker: Speaker): PlaySource {
  if (place === 1) return phrase('next', speaker)
  const recorded = place <= RECORDED_PLACES ? ['place-before', `place-${place}`, 'place-behind'] : ['place-far']
  return spoken(phrasesOf(speaker.language).position(place), recorded, speaker)
}

/** Asks for consent to record the call: pressing the key is the consent. */
export function consentPhrase(key: string, speaker: Speaker): PlaySource {
  const { consent, star, hash } = phrasesOf(speaker.language)
  const name = key === '*' ? star : key === '#' ? hash : key
  return spoken(consent(name), ['consent-before', recordedKey(key), 'consent-behind'], speaker)
}

/** Digits use the recordings of queue positions. */
function recordedKey(key: string): string {
  if (key === '*') return 'key-star'
  if (key === '#') return 'key-hash'
  return key === '0' ? 'key-0' : `place-${key}`
}

/** For a language without phrases: English, with an English voice. */
const spoken = (text: string, recorded: string[], { language, ...voice }: Speaker): PlaySource => ({
  kind: 'speech',
  text,
  ...voice,
  language: language !== null && codeOf(language) === language.split('-')[0]!.toLowerCase() ? language : null,
  recorded,
})

/** A row that names a phrase; any other names a room prompt. */
const SAID = /^say:(\w+):(.*)$/

export const namedPhrase = (name: FixedPhrase, language: string | null): string => `say:${name}:${language ?? ''}`

/** The phrase of a row written by `namedPhrase`, and its language; null: it is something else. */
export function phraseNamed(row: string): { source: PlaySource; language: string | null } | null {
  const [, name, tag] = SAID.exec(row) ?? []
  if (name === undefined || !(name in RECORDED)) return null
  const language = tag || null
  return { source: phrase(name as FixedPhrase, { voice: null, language }), language }
}

/** The phrase with this text in the speaker's language; null: it is not recorded. */
export function phraseOf(text: string, speaker: Speaker): PlaySource | null {
  const phrases = phrasesOf(speaker.language)
  const name = (Object.keys(RECORDED) as FixedPhrase[]).find(key => phrases[key] === text)
  return name === undefined ? null : phrase(name, speaker)
}
