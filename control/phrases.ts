import type { LanguageCode } from './languages.ts'

/** What the product says by itself in words that no user wrote: assistants, flows and queues. */
export interface Phrases {
  /** While something takes its time. */
  filler: string
  stillThere: string
  goodbye: string
  apology: string
  /** Before the tone of a voicemail. */
  leaveMessage: string
  /** The place in line of who is next, and of the others. */
  next: string
  position: (place: number) => string
}

const PHRASES: Readonly<Record<LanguageCode, Phrases>> = {
  en: {
    filler: 'One moment, please.',
    stillThere: 'Are you still there?',
    goodbye: 'Thank you for calling. Goodbye.',
    apology: 'I am sorry, I cannot help you right now.',
    leaveMessage: 'Please leave a message after the tone. Press any key when you are done.',
    next: 'You are next in line.',
    position: place => `You are number ${place} in line.`,
  },
  he: {
    filler: 'רק רגע, בבקשה.',
    stillThere: 'האם אתם עדיין על הקו?',
    goodbye: 'תודה שהתקשרתם. להתראות.',
    apology: 'אני מצטער, איני יכול לעזור כרגע.',
    leaveMessage: 'נא להשאיר הודעה לאחר הצליל. בסיום הקישו על מקש כלשהו.',
    next: 'אתם הבאים בתור.',
    position: place => `אתם במקום ${place} בתור.`,
  },
  es: {
    filler: 'Un momento, por favor.',
    stillThere: '¿Sigue usted ahí?',
    goodbye: 'Gracias por su llamada. Adiós.',
    apology: 'Lo siento, en este momento no puedo ayudarle.',
    leaveMessage: 'Deje un mensaje después de la señal. Pulse cualquier tecla cuando termine.',
    next: 'Usted es el siguiente en la cola.',
    position: place => `Usted ocupa el lugar ${place} en la cola.`,
  },
  fr: {
    filler: 'Un instant, s’il vous plaît.',
    stillThere: 'Êtes-vous toujours là ?',
    goodbye: 'Merci de votre appel. Au revoir.',
    apology: 'Je suis désolé, je ne peux pas vous aider pour le moment.',
    leaveMessage: 'Veuillez laisser un message après le signal sonore. Appuyez sur une touche quand vous avez terminé.',
    next: 'Votre appel est le prochain.',
    position: place => `Vous êtes en position ${place} dans la file d’attente.`,
  },
  de: {
    filler: 'Einen Moment, bitte.',
    stillThere: 'Sind Sie noch da?',
    goodbye: 'Vielen Dank für Ihren Anruf. Auf Wiederhören.',
    apology: 'Es tut mir leid, ich kann Ihnen im Moment nicht helfen.',
    leaveMessage:
      'Bitte hinterlassen Sie eine Nachricht nach dem Ton. Drücken Sie eine beliebige Taste, wenn Sie fertig sind.',
    next: 'Sie sind als Nächster an der Reihe.',
    position: place => `Sie sind auf Platz ${place} der Warteschlange.`,
  },
  pt: {
    filler: 'Um momento, por favor.',
    stillThere: 'Ainda está aí?',
    goodbye: 'Obrigado pela sua chamada. Adeus.',
    apology: 'Lamento, neste momento não posso ajudar.',
    leaveMessage: 'Deixe uma mensagem após o sinal. Prima qualquer tecla quando terminar.',
    next: 'A sua chamada é a próxima.',
    position: place => `Está na posição ${place} da fila.`,
  },
  it: {
    filler: 'Un momento, per favore.',
    stillThere: 'È ancora in linea?',
    goodbye: 'Grazie per la chiamata. Arrivederci.',
    apology: 'Mi dispiace, al momento non posso aiutarla.',
    leaveMessage: 'Lasci un messaggio dopo il segnale acustico. Prema un tasto qualsiasi quando ha finito.',
    next: 'Lei è il prossimo in coda.',
    position: place => `Lei è al numero ${place} della coda.`,
  },
}

/** English for a language that is not among them, and where none is told. */
export const phrasesOf = (language: string | null): Phrases =>
  (PHRASES as Record<string, Phrases>)[(language ?? 'en').split('-')[0]!.toLowerCase()] ?? PHRASES.en
