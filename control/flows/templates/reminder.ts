import { always, type FlowTemplate, filled, otherwise, outcome, picks } from './template.ts'

export const reminder: FlowTemplate = {
  id: 'outbound_reminder',
  name: 'Outbound reminder',
  description:
    'For calls that you place: reminds of an appointment, and asks to confirm, move or cancel it. The choice is the variable `answer` of the flow run, and is passed to the tool `appointment_answer` if the assistant has one.',
  kind: 'voice',
  graph: {
    settings: { language: 'en' },
    variables: [
      { name: 'company', label: 'Name of the company', sample: 'our company' },
      { name: 'when', label: 'When the appointment is, as it is said', sample: 'tomorrow' },
      { name: 'desk_number', label: 'Number for moving appointments; empty: you only get the answer', sample: '' },
    ],
    nodes: [
      { key: 'start', type: 'start', transitions: [always('remind')] },
      {
        key: 'remind',
        type: 'menu',
        script:
          'Hello, this is {{company}}. You have an appointment {{when}}. To confirm it press 1. To move it press 2. To cancel it press 3.',
        input: { max_retries: 1 },
        transitions: [
          ...picks('1', ['confirm', 'yes'], 'confirmed'),
          ...picks('2', ['move', 'another', 'change'], 'moved'),
          ...picks('3', ['cancel', 'no'], 'cancelled'),
          otherwise('unanswered'),
        ],
      },
      { key: 'confirmed', type: 'set', set: { answer: 'confirmed' }, transitions: [always('tell')] },
      { key: 'moved', type: 'set', set: { answer: 'to be moved' }, transitions: [always('movable')] },
      { key: 'cancelled', type: 'set', set: { answer: 'cancelled' }, transitions: [always('tell')] },
      { key: 'unanswered', type: 'set', set: { answer: 'no answer' }, transitions: [always('tell')] },
      { key: 'movable', type: 'branch', transitions: [filled('desk_number', 'to_desk'), otherwise('tell')] },
      {
        key: 'to_desk',
        type: 'transfer',
        script: 'I put you through to somebody who finds another time.',
        target: { type: 'number', id: '{{desk_number}}' },
        transitions: [otherwise('tell')],
      },
      {
        key: 'tell',
        type: 'action',
        action: {
          kind: 'tool',
          name: 'appointment_answer',
          input: { answer: '{{answer}}', phone: '{{called}}', call_id: '{{call_id}}' },
        },
        transitions: [outcome('success', 'noted'), otherwise('bye')],
      },
      { key: 'noted', type: 'end', script: 'Thank you, that is noted. Goodbye.' },
      { key: 'bye', type: 'end', script: 'Thank you. Goodbye.' },
    ],
  },
}
