import { always, CALLBACK_NODES, type FlowTemplate, filled, otherwise, outcome, picks } from './template.ts'

export const payment: FlowTemplate = {
  id: 'payment',
  name: 'Payment',
  description:
    "Says the amount due, from the variable `amount` or the tool `amount_due` of the flow's assistant. Then puts the caller through to the organisation's payment number, which alone hears the keys.",
  kind: 'voice',
  graph: {
    settings: { language: 'en' },
    variables: [
      { name: 'amount', label: 'Amount due; empty: the tool is asked', sample: '' },
      { name: 'currency', label: 'As it is said', sample: 'dollars' },
    ],
    nodes: [
      { key: 'start', type: 'start', transitions: [always('known')] },
      { key: 'known', type: 'branch', transitions: [filled('amount', 'offer'), otherwise('invoice')] },
      {
        key: 'invoice',
        type: 'collect',
        script: 'Please key in your invoice number, then press the hash key.',
        save_as: 'invoice_number',
        transitions: [always('look_up')],
      },
      {
        key: 'look_up',
        type: 'action',
        action: {
          kind: 'tool',
          name: 'amount_due',
          input: { invoice_number: '{{invoice_number}}', phone: '{{caller}}' },
          sample_output: '120',
        },
        save_as: 'amount',
        transitions: [outcome('success', 'offer'), otherwise('sorry')],
      },
      {
        key: 'offer',
        type: 'menu',
        script: '{{amount}} {{currency}} are due. To pay by card now press 1. To be called back press 2.',
        transitions: [
          ...picks('1', ['pay', 'yes', 'now'], 'pay'),
          ...picks('2', ['call me', 'callback', 'call back', 'no'], 'callback'),
          otherwise('callback'),
        ],
      },
      {
        key: 'pay',
        type: 'payment',
        script: 'I connect you with our payment line. Your card number is heard by nobody else.',
        payment: { amount: '{{amount}}' },
        transitions: [outcome('paid', 'paid'), otherwise('sorry')],
      },
      { key: 'paid', type: 'end', script: 'Thank you for your payment. Goodbye.' },
      { key: 'sorry', type: 'say', script: 'I am sorry, that did not work.', transitions: [always('callback')] },
      ...CALLBACK_NODES,
    ],
  },
}
