import { remembered } from '../../kernel/remembered.ts'

const MAX_REMEMBERED = 5000
/** Prefixes that are written together with a word: and, the, in, to, like, from, that. */
const PREFIX = /^(ו?(?:כש|מש|לכש|שה|וה|בה|מה|[הבלכמש])|ו)(?=.{3})/
/** "And" before short words: "ומה" (and what). */
const AND = /^ו(?=.{2}$)/
/** Prefixes of the future tense: "אפנה" and "לפנות" are forms of one verb, whose last letter changes. */
const FUTURE = /^[אתינ](?=.{3})/
const INFINITIVE = /^(?:ל)?(.{2,})ות$/
/** Endings for number, gender and possession, with final letters replaced. */
const SUFFIX = /(ותיכמ|יהמ|ותיו|ותי|יות|ימ|ות|תי|נו|תמ|ית|יכ|כמ|ה|ת|י)$/

/** Candidate roots of a word, which its forms share: the word itself, without prefix, and without ending. */
export const rootsOf = remembered(MAX_REMEMBERED, (word: string): readonly string[] => {
  const bare = word.replace(PREFIX, '').replace(AND, '')
  const forms = [word, bare, word.replace(FUTURE, '')]
  const verb = INFINITIVE.exec(word)?.[1]
  if (verb !== undefined) forms.push(`${verb}ה`)
  for (const form of [word, bare]) {
    const short = form.replace(SUFFIX, '')
    if (short.length >= 3) forms.push(short)
  }
  return [...new Set(forms)]
})

/** Whether two Hebrew words are forms of one word. */
export const isSameInHebrew = (a: string, b: string): boolean => {
  const roots = rootsOf(b)
  return rootsOf(a).some(root => roots.includes(root))
}

/** Stop words. */
const LIGHT = new Set(
  'את של על עמ אל אני אתה אתמ אנחנו הוא היא המ זה זאת זו כל גמ רק עוד כי אמ או אבל יש היה להיות לי לכ לנו שלי שלכ שלנו כנ מה איכ כאנ שמ פה ה ו אפשר יכול יכולה יכולימ אוכל נוכל ניתנ'.split(
    ' ',
  ),
)
export const isLightInHebrew = (word: string): boolean => LIGHT.has(word)
