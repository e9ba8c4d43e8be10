import { always, CALLBACK_NODES, type FlowTemplate, otherwise, outcome, picks } from './template.ts'

/** A node that stores the answer under its own key. */
const asks = (key: string, script: string, next: string) => ({
  ...{ key, type: 'collect', script, save_as: key, input: { modes: ['speech' as const] } },
  transitions: [always(next)],
})

export const appointment: FlowTemplate = {
  id: 'appointment',
  name: 'Appointment',
  description:
    "Asks what for, when and for whom, reads it back, and books with the tool `book_appointment` of the flow's assistant. Without that tool, it books a callback.",
  kind: 'voice',
  graph: {
    settings: { language: 'en' },
    variables: [{ name: 'company', label: 'Name of the company', sample: 'our company' }],
    nodes: [
      { key: 'start', type: 'start', transitions: [always('service')] },
      asks('service', 'Hello, this is {{company}}. What is the appointment for?', 'day'),
      asks('day', 'Which day and time suit you?', 'name'),
      asks('name', 'What is your name?', 'confirm'),
      {
        key: 'confirm',
        type: 'menu',
        script: '{{service}}, {{day}}, for {{name}}. Is that right? Press 1 for yes or 2 for no.',
        transitions: [
          ...picks('1', ['yes', 'right', 'correct'], 'book'),
          ...picks('2', ['no', 'wrong'], 'service'),
          otherwise('callback'),
        ],
      },
      {
        key: 'book',
        type: 'action',
        action: {
          kind: 'tool',
          name: 'book_appointment',
          input: { service: '{{service}}', day: '{{day}}', name: '{{name}}', phone: '{{caller}}' },
        },
        transitions: [outcome('success', 'done'), otherwise('callback')],
      },
      { key: 'done', type: 'end', script: 'Your appointment is booked. See you then. Goodbye.' },
      ...CALLBACK_NODES,
    ],
  },
}
