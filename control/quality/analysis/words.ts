import { remembered } from '../../kernel/remembered.ts'
import { wordsOf } from '../../knowledge/words.ts'

/** Words of a text as they are compared: in lower case, without accents and vowel points. */
export const plainWords = (text: string): string[] =>
  wordsOf(text.normalize('NFKD').replace(/\p{M}/gu, '').normalize('NFC').replace(/['’]/g, ''))

/** Words without a topic of their own, in English and Hebrew. */
const EMPTY = new Set(
  (
    'a about actually again ah all alright also am an and any anything are arent as at be because been before being but by bye call called calling can cant come could couldnt day did didnt do does doesnt doing dont each every fine for from get getting give go goes going gone good got had has hasnt have havent having he hello help her here hey hi him his hold how i id if ill im in into is isnt it its ive just kind know let lets like little look lot made make many may maybe me mean might moment more morning much must my name need never new nice no not now of off oh ok okay on one only or other our out over please put quite really right said same say see she should so some somebody someone something sorry speak still such sure take talk tell thank thanks that thats the their them then there theres these they theyre thing things think this those to today too try trying two uh um up us very wait want wanted was wasnt way we welcome well went were weve what whats when where which while who why will with wont would wouldnt yeah yep yes yesterday yet you youll your youre youve afternoon evening number minute second hear bit back okey hmm huh everything nothing anyone goodbye wonderful great perfect lovely speaking may able first last long time ' +
    'אני אתה את הוא היא אנחנו אתם הם הן של על עם אל לא כן כי אם או גם רק עוד כבר זה זאת זו אלה יש אין היה היתה הייתי להיות מה מי איך למה מתי איפה שלום תודה בבקשה טוב בסדר אז אבל כמו כל לי לך לו לה לנו לכם להם שלי שלך שלו אוקיי רגע כאן שם פה מאוד הכל רוצה צריך יכול אפשר'
  ).split(' '),
)

/** Whether a word may give a topic. */
export const isContent = (word: string): boolean => word.length > 2 && !EMPTY.has(word) && !/^\p{N}+$/u.test(word)

const MAX_REMEMBERED = 20_000

/** The form that other forms of a word share, roughly: English endings, Hebrew one-letter prefixes. */
export const stemOf = remembered(MAX_REMEMBERED, (word: string): string => {
  if (/^[a-z]+$/.test(word)) {
    const stem = word
      .replace(/(?<=.{2})ies$/, 'y')
      .replace(/(?<=.{2})(?<=[sxz]|ch|sh)es$/, '')
      .replace(/(?<=.{2}[^su])s$/, '')
      .replace(/(?<=.{3})(ing|ed)$/, '')
      .replace(/([bdfgklmnprt])\1$/, '$1')
    return stem.length > 3 ? stem.replace(/e$/, '') : stem
  }
  return /^[\u05d0-\u05ea]{4,}$/.test(word) ? word.replace(/^[ובלכמשה]{1,2}(?=.{3,})/, '') : word
})

/** The singular of an English word, since both forms are the same topic. */
export const singular = (word: string): string =>
  /^[a-z]{4,}$/.test(word)
    ? word
        .replace(/(?<=.{2})ies$/, 'y')
        .replace(/(?<=[sxz]|ch|sh)es$/, '')
        .replace(/(?<=[^sui])s$/, '')
    : word
