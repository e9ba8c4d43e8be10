/** A profile as a sales team may have it. */
export const PROFILE = {
  name: 'Bench',
  stages: [
    {
      key: 'open',
      label: 'Opening',
      checklist: [
        { key: 'offer', label: 'Offer help', phrases: ['how can I help you', 'what can I do for you'] },
        { key: 'name', label: 'Ask for the name', phrases: ['may I have your name', 'who am I speaking with'] },
      ],
    },
    { key: 'close', label: 'Closing', checklist: [{ key: 'bye', label: 'Goodbye', phrases: ['have a nice day'] }] },
  ],
  fields: [
    { key: 'name', label: 'Name', type: 'name' },
    { key: 'phone', label: 'Phone', type: 'phone' },
    { key: 'email', label: 'Email', type: 'email' },
  ],
  objections: [
    { key: 'price', label: 'Price', examples: ['That costs too much money'], triggers: ['too expensive'] },
    { key: 'time', label: 'No time', examples: ['I have no time for this now'], triggers: ['no time'] },
  ],
  alerts: [{ key: 'cancel', kind: 'phrase', label: 'Cancels', phrases: ['cancel my contract'] }],
  compliance: {
    required_disclosures: [{ key: 'recorded', label: 'Recording', phrases: ['this call is recorded'] }],
    forbidden_phrases: [{ phrase: 'we guarantee' }],
  },
}

/** Each leads to something that is told. */
export const LINES: readonly { party: 'agent' | 'customer'; text: string }[] = [
  { party: 'agent', text: 'Good morning. How can I help you today?' },
  { party: 'customer', text: 'My name is John Smith.' },
  { party: 'customer', text: 'I want to cancel my contract today.' },
  { party: 'agent', text: 'This call is recorded.' },
  { party: 'customer', text: 'That is too expensive.' },
  { party: 'agent', text: 'Thank you, and have a nice day.' },
]
