/** What an assistant says by itself, in the languages that rooms speak too. */
export interface Phrases {
  filler: string
  stillThere: string
  goodbye: string
  apology: string
}

const ENGLISH: Phrases = {
  filler: 'One moment, please.',
  stillThere: 'Are you still there?',
  goodbye: 'Thank you for calling. Goodbye.',
  apology: 'I am sorry, I cannot help you right now.',
}

const HEBREW: Phrases = {
  filler: 'רק רגע, בבקשה.',
  stillThere: 'האם אתם עדיין על הקו?',
  goodbye: 'תודה שהתקשרתם. להתראות.',
  apology: 'אני מצטער, איני יכול לעזור כרגע.',
}

export const phrasesOf = (language: string): Phrases => (/^he\b/.test(language) ? HEBREW : ENGLISH)
