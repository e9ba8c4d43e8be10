import { alert, type CopilotTemplate, disclosure, field, objection, stage } from './template.ts'

const sales: CopilotTemplate = {
  id: 'sales',
  name: 'Sales call',
  description: 'Needs, offer and next step; answers to the objections that come most often.',
  settings: {
    goal: 'Find out what the customer needs, make a fitting offer, and agree on a next step.',
    tone: 'Friendly, curious, never pushy.',
    stages: [
      stage('opening', 'Opening', 'Say who is calling and why.', {
        greeting: ['Greet and say your name.', 'my name is', 'this is'],
        time: ['Ask whether the time suits.', 'good time', 'have a minute'],
      }),
      stage('needs', 'Needs', 'Understand what the customer needs.', {
        situation: ['Ask what they use today.', 'what do you use', 'how do you do'],
        budget: ['Ask about the budget.', 'budget', 'how much do you spend'],
      }),
      stage('offer', 'Offer', 'Make an offer that answers the needs.', {
        price: ['Say the price.', 'the price is', 'it costs'],
      }),
      stage('closing', 'Closing', 'Agree on a next step.', {
        next_step: ['Agree on a next step.', 'next step', 'send you', 'call you'],
      }),
    ],
    objections: [
      objection(
        'price',
        'Too expensive',
        ['too expensive', 'too much money', 'cannot afford'],
        'Ask what they compare it with, then say what it saves them.',
      ),
      objection(
        'later',
        'Not now',
        ['not now', 'think about it', 'call me later'],
        'Ask what has to happen before, and offer a date for the next call.',
      ),
      objection(
        'competitor',
        'Has another supplier',
        ['already have', 'another supplier', 'happy with'],
        'Ask what they like there, and what they miss.',
      ),
    ],
    fields: [
      field('company', 'Company'),
      field('email', 'E-mail', 'email'),
      field('budget', 'Budget', 'money'),
      field('next_step', 'Next step', 'text', true),
    ],
    alerts: [alert('monologue', 'monologue', 'Long monologue', 'Ask a question.')],
  },
}

const support: CopilotTemplate = {
  id: 'support',
  name: 'Support call',
  description: 'Who calls, what is wrong, what was done, and whether it is solved.',
  settings: {
    goal: 'Understand the problem, solve it in this call, or say when it will be solved.',
    tone: 'Calm and clear.',
    stages: [
      stage('opening', 'Opening', 'Know who is calling.', {
        greeting: ['Greet and offer help.', 'how can i help', 'what can i do'],
        identity: ['Ask for the customer or order number.', 'customer number', 'order number', 'account number'],
      }),
      stage('problem', 'Problem', 'Understand what is wrong, and since when.', {
        repeat: ['Say the problem in your words.', 'if i understand', 'so you', 'you mean'],
      }),
      stage('solution', 'Solution', 'Solve it, or say who does and when.', {
        solved: ['Ask whether it works now.', 'does it work', 'is it solved', 'does that help'],
      }),
      stage('closing', 'Closing', 'End on good terms.', {
        more: ['Ask whether there is anything else.', 'anything else'],
      }),
    ],
    objections: [
      objection(
        'again',
        'Called before',
        ['third time', 'called before', 'called already', 'again and again'],
        'Apologise, read what was noted, and do not ask for it again.',
      ),
    ],
    fields: [
      field('customer_number', 'Customer number', 'text', true),
      field('problem', 'Problem', 'text', true),
      field('since', 'Since when', 'date'),
    ],
    alerts: [
      alert('supervisor', 'customer_asks_for_supervisor', 'Asks for a supervisor', 'A supervisor has been told.'),
      alert('sentiment', 'sentiment', 'The customer is upset', 'Slow down and show that you understand.'),
    ],
  },
}

const collections: CopilotTemplate = {
  id: 'collections',
  name: 'Payment reminder',
  description: 'A call about an open invoice: what must be said, what must not, and an agreed date.',
  settings: {
    goal: 'Agree on how and when the open amount is paid.',
    tone: 'Respectful, to the point.',
    stages: [
      stage('opening', 'Opening', 'Be sure whom you speak with.', {
        identity: ['Ask for name and date of birth.', 'date of birth', 'confirm your name'],
      }),
      stage('invoice', 'Invoice', 'Say what is open.', {
        amount: ['Say the amount that is due.', 'is due', 'open amount'],
      }),
      stage('agreement', 'Agreement', 'Agree on a date and a way to pay.', {
        date: ['Agree on a date.', 'by when', 'until when', 'on which day'],
      }),
    ],
    objections: [
      objection('paid', 'Has paid', ['already paid', 'paid it'], 'Ask for date and way of the payment, and check it.'),
      objection(
        'no_money',
        'Cannot pay',
        ['cannot pay', 'no money', 'lost my job'],
        'Offer instalments, and ask which amount is possible each month.',
      ),
    ],
    fields: [field('amount', 'Amount', 'money', true), field('pay_date', 'Date of payment', 'date', true)],
    compliance: {
      required_disclosures: [
        disclosure('recorded', 'The call is recorded', 'This call is recorded.', ['call is recorded', 'we record']),
      ],
      forbidden_phrases: [
        { phrase: 'we will sue you', instead: 'Say which step follows.', reason: 'A threat.', severity: 'critical' },
        { phrase: 'go to jail', instead: '', reason: 'A threat, and untrue.', severity: 'critical' },
      ],
    },
    alerts: [alert('compliance', 'compliance', 'Compliance', 'See the disclosures and forbidden phrases.')],
  },
}

const booking: CopilotTemplate = {
  id: 'booking',
  name: 'Appointment booking',
  description: 'Picks service, day, name and number out of the conversation, and has them read back.',
  settings: {
    goal: 'Book an appointment that the customer can keep.',
    tone: 'Quick and friendly.',
    stages: [
      stage('request', 'Request', 'Know what for and when.', {
        service: ['Ask what the appointment is for.', 'what is it for', 'which service'],
        day: ['Ask for day and time.', 'which day', 'what time', 'when would'],
      }),
      stage('contact', 'Contact', 'Know whom to reach.', {
        phone: ['Ask for name and number.', 'your number', 'your name'],
      }),
      stage('confirmation', 'Confirmation', 'Be sure that all is right.', {
        read_back: ['Read the appointment back.', 'so that is', 'let me repeat', 'to confirm'],
      }),
    ],
    fields: [
      field('service', 'Service', 'text', true),
      field('day', 'Day', 'date', true),
      field('time', 'Time', 'time', true),
      field('name', 'Name', 'name', true),
      field('phone', 'Phone', 'phone'),
    ],
  },
}

export const COPILOT_TEMPLATES: readonly CopilotTemplate[] = [sales, support, collections, booking]
