import { always, type FlowTemplate, filled, otherwise, outcome, schedule } from './template.ts'

export const afterHours: FlowTemplate = {
  id: 'after_hours_voicemail',
  name: 'After-hours voicemail',
  description: "Puts callers through during the organisation's business hours, and takes a message at other times.",
  kind: 'ivr',
  graph: {
    settings: { language: 'en' },
    variables: [
      { name: 'hours', label: 'Opening hours, as they are said', sample: 'nine to five, Monday to Friday' },
      {
        name: 'desk_number',
        label: 'Number that callers are put through to during business hours; empty: a message is taken',
        sample: '',
      },
    ],
    nodes: [
      { key: 'start', type: 'start', transitions: [always('is_open')] },
      { key: 'is_open', type: 'branch', transitions: [schedule(true, 'has_desk'), otherwise('closed')] },
      { key: 'has_desk', type: 'branch', transitions: [filled('desk_number', 'to_desk'), otherwise('nobody')] },
      {
        key: 'to_desk',
        type: 'transfer',
        script: 'Hello. I put you through.',
        target: { type: 'number', id: '{{desk_number}}' },
        transitions: [otherwise('nobody')],
      },
      { key: 'nobody', type: 'say', script: 'Nobody can answer right now.', transitions: [always('message')] },
      {
        key: 'closed',
        type: 'say',
        script: 'Hello. We are closed now. We are open {{hours}}.',
        transitions: [always('message')],
      },
      {
        key: 'message',
        type: 'voicemail',
        script: 'Please leave your name, your number and a message after the tone.',
        transitions: [outcome('recorded', 'thanks'), otherwise('failed')],
      },
      { key: 'thanks', type: 'end', script: 'Thank you. We have your message. Goodbye.' },
      { key: 'failed', type: 'end', script: 'Please call us again in our opening hours. Goodbye.' },
    ],
  },
}
