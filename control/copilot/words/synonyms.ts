import { areInOneRow, rowsByForm, stem } from '../../assistants/offline/english.ts'
import { remembered } from '../../kernel/remembered.ts'
import { isHebrew } from './fold.ts'
import { rootsOf } from './hebrew.ts'

/**
 * Synonyms in telephone conversations; each row is a group. Only few and clear ones, since a word of a row matches any other, in alerts
 * too. No opposites, and nothing merely similar: a contract is no order.
 */
const SAME = [
  'talk speak chat',
  'discuss talk',
  'good great nice lovely wonderful fantastic',
  'good fine ok okay',
  'help assist support',
  'husband wife spouse partner fiance',
  'boss manager superior',
  'lawyer attorney solicitor',
  'phone telephone call ring',
  'start begin',
  'company firm business',
  'record tape',
  'buy purchase',
  'expensive pricey costly steep',
  'cheaper less',
  'big large huge',
  'small little tiny',
  'fast quick',
  'terrible awful horrible dreadful',
  'ugly awful hideous',
  'sure certain',
  'worried concerned',
  'moment minute second',
  'show demonstrate',
  'send forward',
  'house home',
  'house flat apartment',
  'child kid',
  'children kids',
  'car vehicle',
  'doctor physician',
  'picture photo',
  'town city',
  'holiday vacation',
  'mobile cellphone cell',
  'shop store',
  'bill invoice',
  'fee charge cost price rate',
  'happy satisfied pleased content',
  'problem issue trouble',
  'broken faulty',
  'fix repair mend',
  'rather prefer',
  'different another other',
  'competitor vendor supplier provider rival',
  'safe secure protected',
  'like enjoy',
  'think consider',
  'use have got',
  'ask consult check',
  'email mail',
  'complain unhappy',
  'sell selling',
  'choose decide decision',
  'commit commitment',
  'answer reply',
  'finish complete',
  'wait waiting',
  'daily day',
  'weekly week',
  'monthly month',
  'yearly annual annually year',
  'busy occupied',
  'אשתי בעלי בת בנ זוגי זוגתי',
  'עורכ עו״ד',
  'דירה בית',
  'יקר ביוקר',
  'טלפונ נייד',
  'מנהל ממונה אחראי',
  'עכשיו כרגע כעת',
  'תודה מודה',
  'הרבה מאוד המונ',
  'להתייעצ לדבר לשוחח',
]

const MAX_REMEMBERED = 20_000
const rows = rowsByForm(SAME, formsOf)

function formsOf(word: string): readonly string[] {
  return isHebrew(word) ? rootsOf(word) : [word, stem(word)]
}

const rowsOf = remembered(MAX_REMEMBERED, (word): ReadonlySet<number> => {
  return new Set(formsOf(word).flatMap(form => [...(rows.get(form) ?? [])]))
})

/** Whether two words are in the same row. */
export const areSynonyms = (a: string, b: string): boolean => areInOneRow(rowsOf(a), rowsOf(b))
