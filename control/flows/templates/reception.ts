import { always, CALLBACK_NODES, type FlowTemplate, filled, otherwise, picks } from './template.ts'

export const reception: FlowTemplate = {
  id: 'reception',
  name: 'Reception',
  description: 'Greets, offers sales and support, puts the caller through, and books a callback if nobody answers.',
  kind: 'ivr',
  graph: {
    settings: { language: 'en' },
    variables: [
      { name: 'company', label: 'Name of the company', sample: 'our company' },
      { name: 'sales_number', label: 'Number of sales; empty: a callback', sample: '' },
      { name: 'support_number', label: 'Number of support; empty: a callback', sample: '' },
    ],
    nodes: [
      { key: 'start', type: 'start', transitions: [always('menu')] },
      {
        key: 'menu',
        type: 'menu',
        script: 'Welcome to {{company}}. For sales press 1. For support press 2. To be called back press 3.',
        input: { max_retries: 2 },
        transitions: [
          ...picks('1', ['sales', 'buy', 'order'], 'sales'),
          ...picks('2', ['support', 'help', 'problem'], 'support'),
          ...picks('3', ['call me back', 'callback', 'call back'], 'callback'),
          otherwise('callback'),
        ],
      },
      { key: 'sales', type: 'branch', transitions: [filled('sales_number', 'to_sales'), otherwise('callback')] },
      {
        key: 'to_sales',
        type: 'transfer',
        script: 'I put you through to sales.',
        target: { type: 'number', id: '{{sales_number}}' },
        transitions: [otherwise('busy')],
      },
      { key: 'support', type: 'branch', transitions: [filled('support_number', 'to_support'), otherwise('callback')] },
      {
        key: 'to_support',
        type: 'transfer',
        script: 'I put you through to support.',
        target: { type: 'number', id: '{{support_number}}' },
        transitions: [otherwise('busy')],
      },
      { key: 'busy', type: 'say', script: 'Nobody is free at the moment.', transitions: [always('callback')] },
      ...CALLBACK_NODES,
    ],
  },
}
