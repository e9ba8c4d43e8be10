import type { FlowNode } from '../engine/graph.ts'
import { always, type FlowTemplate, keys, otherwise, picks } from './template.ts'

const SCORES = ['1', '2', '3', '4', '5']

const score = (key: string, script: string, next: string): FlowNode => ({
  key,
  type: 'menu',
  script,
  save_as: key,
  input: { modes: ['dtmf'], max_retries: 1 },
  transitions: [...SCORES.map(digits => keys(digits, next)), otherwise('bye')],
})

export const survey: FlowTemplate = {
  id: 'survey',
  name: 'Survey',
  description: "Two scores by key and a spoken comment. The answers are variables of the call's flow run.",
  kind: 'voice',
  graph: {
    settings: { language: 'en' },
    variables: [{ name: 'company', label: 'Name of the company', sample: 'our company' }],
    nodes: [
      { key: 'start', type: 'start', transitions: [always('consent')] },
      {
        key: 'consent',
        type: 'menu',
        script: 'Hello, this is {{company}}. May we ask you two short questions? Press 1 for yes or 2 for no.',
        input: { max_retries: 1 },
        transitions: [...picks('1', ['yes', 'sure'], 'satisfaction'), ...picks('2', ['no'], 'bye'), otherwise('bye')],
      },
      score('satisfaction', 'How content are you with us? Press a key from 1, not at all, to 5, very.', 'recommend'),
      score('recommend', 'Would you recommend us? Press a key from 1, never, to 5, certainly.', 'comment'),
      {
        key: 'comment',
        type: 'question',
        script: 'What could we do better?',
        save_as: 'comment',
        input: { modes: ['speech'], max_retries: 0 },
        transitions: [always('thanks'), { condition: { kind: 'no_response' }, next: 'thanks' }],
      },
      { key: 'thanks', type: 'end', script: 'Thank you for your answers. Goodbye.' },
      { key: 'bye', type: 'end', script: 'Thank you all the same. Goodbye.' },
    ],
  },
}
