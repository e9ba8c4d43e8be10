import { remembered } from '../../kernel/remembered.ts'

const MAX_REMEMBERED = 5000
/** And, the, in, to, like, from, that: written as one with the word. */
const PREFIX = /^(ו?(?:כש|מש|לכש|שה|וה|בה|מה|[הבלכמש])|ו)(?=.{3})/
/** "And", before short words too: "ומה", and what. */
const AND = /^ו(?=.{2}$)/
/** I, you, he, we, in what will be: "אפנה" and "לפנות" are of one verb, whose last letter changes. */
const FUTURE = /^[אתינ](?=.{3})/
const INFINITIVE = /^(?:ל)?(.{2,})ות$/
/** Number, gender and whose: of the word without its final letters. */
const SUFFIX = /(ותיכמ|יהמ|ותיו|ותי|יות|ימ|ות|תי|נו|תמ|ית|יכ|כמ|ה|ת|י)$/

/** Roots by which forms of a word are told to be one: the word itself, without its prefix, and without its ending. */
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

/** Whether two words of Hebrew are forms of one. */
export const isSameInHebrew = (a: string, b: string): boolean => {
  const roots = rootsOf(b)
  return rootsOf(a).some(root => roots.includes(root))
}

/** Words that say little. */
const LIGHT = new Set(
  'את של על עמ אל אני אתה אתמ אנחנו הוא היא המ זה זאת זו כל גמ רק עוד כי אמ או אבל יש היה להיות לי לכ לנו שלי שלכ שלנו כנ מה איכ כאנ שמ פה ה ו אפשר יכול יכולה יכולימ אוכל נוכל ניתנ'.split(
    ' ',
  ),
)
export const isLightInHebrew = (word: string): boolean => LIGHT.has(word)
