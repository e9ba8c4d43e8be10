import type { Word } from './fold.ts'
import { findPhrase, phraseOf } from './phrases.ts'

const WISHES = [
  ...['speak to your', 'talk to your', 'speak with your', 'talk with your', 'want your', 'need your', 'demand your'],
  ...['get me your', 'give me your', 'call your', 'would like your', 'demand to see your', 'want to see your'],
  ...['connect me to your', 'transfer me to your', 'put me through to your', 'pass me to your'],
]
const WHOM = ['manager', 'supervisor', 'boss', 'superior', 'team leader']
const ASKED = [
  ...WISHES.flatMap(wish => WHOM.map(whom => `${wish} ${whom}`)),
  ...WHOM.map(whom => `is there a ${whom}`),
  ...['somebody in charge', 'someone in charge', 'person in charge', 'who is in charge', 'whoever is in charge'],
  ...['somebody higher up', 'someone higher up', 'want to escalate', 'need to escalate', 'please escalate'],
  ...['לדבר עם מנהל', 'לדבר עם האחראי', 'לדבר עם הממונה', 'רוצה מנהל', 'צריך מנהל', 'תן לי מנהל', 'תני לי מנהל'],
  ...['תעביר אותי למנהל', 'תעבירי אותי למנהל', 'תביא לי מנהל', 'מי האחראי', 'מי המנהל'],
]
/** Verbs of somebody who reports having done so. */
const DONE = /^(?:spoke|spoken|talked|called|wanted|needed|got|gave|דיברתי|דברתי)$/
/** Words for somebody's own manager, which precede the noun; in Hebrew they follow it. */
const OWN = /^(?:my|our|his|her|their)$/
const OWN_BEHIND = /^(?:שלי|שלנו)$/
/** The agent is addressed: "do you need …". */
const YOURS = /^(?:you|אתה|את)$/
const WANTED = /^(?:want|need|call|רוצה|צריכ)/
const CHARGE = 'charge'
const IN_CHARGE = /^(?:who|whoever|somebody|someone|person)$/

/** Whether a customer asks for a supervisor, in the usual words or in one of these phrases. */
export const asksForSupervisor = (words: readonly Word[], phrases: readonly string[]): boolean =>
  phrases.some(text => findPhrase(words, phraseOf(text)) !== null) ||
  ASKED.some(text => {
    const match = findPhrase(words, phraseOf(text))
    if (match === null) return false
    const said = words.slice(match.from, match.to).map(word => word.text)
    const [before, behind] = [words[match.from - 1]?.text ?? '', words[match.to]?.text ?? '']
    if (said.at(-1) === CHARGE) return said.some(word => IN_CHARGE.test(word)) && behind !== 'of'
    if (YOURS.test(before) && WANTED.test(said[0]!) && !isBidden(words, match.from - 1)) return false
    return !said.some(word => DONE.test(word) || OWN.test(word)) && !OWN_BEHIND.test(behind)
  })

/** Whether it is a request, such as "could you call your manager", and not a question, such as "do you need your manager". */
const isBidden = (words: readonly Word[], you: number): boolean =>
  /^(?:can|could|will|would)$/.test(words[you - 1]?.text ?? '')
