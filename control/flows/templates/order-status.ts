import { always, CALLBACK_NODES, type FlowTemplate, otherwise, outcome, picks } from './template.ts'

export const orderStatus: FlowTemplate = {
  id: 'order_status',
  name: 'Order status',
  description:
    "Asks for the order number and says what the tool `order_status` of the flow's assistant returns. Without that tool, it books a callback.",
  kind: 'voice',
  graph: {
    settings: { language: 'en' },
    variables: [],
    nodes: [
      { key: 'start', type: 'start', transitions: [always('number')] },
      {
        key: 'number',
        type: 'collect',
        script: 'Please say or key in your order number, then press the hash key.',
        save_as: 'order_number',
        transitions: [always('look_up')],
      },
      {
        key: 'look_up',
        type: 'action',
        action: {
          kind: 'tool',
          name: 'order_status',
          input: { order_number: '{{order_number}}', phone: '{{caller}}' },
          sample_output: 'on its way',
        },
        save_as: 'order_state',
        transitions: [outcome('success', 'tell'), otherwise('unknown')],
      },
      { key: 'tell', type: 'say', script: 'Your order is {{order_state}}.', transitions: [always('more')] },
      {
        key: 'unknown',
        type: 'menu',
        script: 'I could not find this order. Press 1 to try another number, or 2 to be called back.',
        transitions: [
          ...picks('1', ['try', 'another', 'again'], 'number'),
          ...picks('2', ['call me', 'callback', 'call back'], 'callback'),
          otherwise('callback'),
        ],
      },
      {
        key: 'more',
        type: 'menu',
        script: 'For another order press 1. To be called back press 2. Otherwise just hang up.',
        input: { max_retries: 0 },
        transitions: [
          ...picks('1', ['another', 'order'], 'number'),
          ...picks('2', ['call me', 'callback', 'call back'], 'callback'),
          otherwise('bye'),
        ],
      },
      { key: 'bye', type: 'end', script: 'Thank you for your call. Goodbye.' },
      ...CALLBACK_NODES,
    ],
  },
}
