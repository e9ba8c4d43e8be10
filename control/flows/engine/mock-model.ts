import { plainWords } from './conditions.ts'
import type { FlowModel } from './model.ts'

const GOODBYE = new Set(['bye', 'goodbye', 'done', 'thanks', 'תודה', 'להתראות'])

/**
 * The model for test keys: it contacts nobody, and always says the same at the same place. It repeats the node's goal, takes a thank-you or
 * a goodbye as the goal reached, and chooses the intent that shares most words with what the caller said.
 */
export const mockModel: FlowModel = {
  reply: async ({ goal, history }) => {
    const last = history.at(-1)
    const said = last?.role === 'customer' ? last.text : ''
    const done = wordsOf(said).some(word => GOODBYE.has(word))
    const heard = said === '' ? '' : ` You said: ${said}`
    return { text: done ? 'Thank you.' : `(mock) ${goal}${heard}`, done, value: done ? said : null }
  },
  judge: async ({ text, intents }) => {
    const said = new Set(wordsOf(text).filter(word => word.length > 2))
    const scores = intents.map(({ description, examples }) =>
      Math.max(...[description, ...examples].map(line => wordsOf(line).filter(word => said.has(word)).length)),
    )
    const best = Math.max(0, ...scores)
    return { intent: best === 0 ? null : scores.indexOf(best) }
  },
}

const wordsOf = (text: string): string[] => plainWords(text).split(' ')
