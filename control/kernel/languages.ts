/** The product's languages, by the first part of their BCP 47 tags: it speaks its own phrases in these. */
export const LANGUAGES = {
  en: 'English',
  he: 'Hebrew',
  es: 'Spanish',
  fr: 'French',
  de: 'German',
  pt: 'Portuguese',
  it: 'Italian',
} as const

export type LanguageCode = keyof typeof LANGUAGES

export const LANGUAGE_CODES = Object.keys(LANGUAGES) as LanguageCode[]
