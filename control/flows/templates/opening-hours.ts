import { always, type FlowTemplate, filled, otherwise, picks, schedule } from './template.ts'

export const openingHours: FlowTemplate = {
  id: 'opening_hours',
  name: 'Opening hours',
  description:
    "Says whether you are open now (by the organisation's business hours), tells hours and address, and puts callers through.",
  kind: 'ivr',
  graph: {
    settings: { language: 'en' },
    variables: [
      { name: 'hours', label: 'Opening hours, as they are said', sample: 'nine to five, Monday to Friday' },
      { name: 'address', label: 'Address, as it is said', sample: '' },
      {
        name: 'desk_number',
        label: 'Number that callers are put through to while you are open; empty: none',
        sample: '',
      },
    ],
    nodes: [
      { key: 'start', type: 'start', transitions: [always('is_open')] },
      { key: 'is_open', type: 'branch', transitions: [schedule(true, 'open'), otherwise('closed')] },
      { key: 'open', type: 'say', script: 'Hello. We are open now.', transitions: [always('menu')] },
      { key: 'closed', type: 'say', script: 'Hello. We are closed now.', transitions: [always('menu')] },
      {
        key: 'menu',
        type: 'menu',
        script: 'For our opening hours press 1. For our address press 2. To speak with somebody press 0.',
        input: { max_retries: 1 },
        transitions: [
          ...picks('1', ['hours', 'open', 'when'], 'hours'),
          ...picks('2', ['address', 'where'], 'address'),
          ...picks('0', ['somebody', 'person', 'agent'], 'reachable'),
          otherwise('bye'),
        ],
      },
      { key: 'hours', type: 'say', script: 'We are open {{hours}}.', transitions: [always('more')] },
      { key: 'address', type: 'branch', transitions: [filled('address', 'say_address'), otherwise('no_address')] },
      { key: 'say_address', type: 'say', script: 'You find us at {{address}}.', transitions: [always('more')] },
      { key: 'no_address', type: 'say', script: 'You find our address on our website.', transitions: [always('more')] },
      {
        key: 'more',
        type: 'menu',
        script: 'Press 1 to hear the menu again, or just hang up.',
        input: { max_retries: 0 },
        transitions: [...picks('1', ['again', 'menu', 'yes'], 'menu'), otherwise('bye')],
      },
      { key: 'reachable', type: 'branch', transitions: [schedule(true, 'has_desk'), otherwise('shut')] },
      { key: 'has_desk', type: 'branch', transitions: [filled('desk_number', 'to_desk'), otherwise('nobody')] },
      {
        key: 'to_desk',
        type: 'transfer',
        script: 'One moment please.',
        target: { type: 'number', id: '{{desk_number}}' },
        transitions: [otherwise('nobody')],
      },
      { key: 'nobody', type: 'end', script: 'Nobody is free at the moment. Please call again later. Goodbye.' },
      { key: 'shut', type: 'end', script: 'We are closed now. We are open {{hours}}. Goodbye.' },
      { key: 'bye', type: 'end', script: 'Thank you for your call. Goodbye.' },
    ],
  },
}
