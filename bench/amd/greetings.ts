/**
 * Greetings in two halves. The detector was developed with `build`. `held`, with other texts, voices and beeps, was held out until it was finished.
 */
export const HALVES = ['build', 'held'] as const
export type Half = (typeof HALVES)[number]

/** People's greetings, followed by silence. */
export const PEOPLE: Record<Half, readonly string[]> = {
  build: [
    'Hello?',
    'Yes?',
    'Hello, this is Anna.',
    'Yes, hello, this is Anna.',
    'Good morning, Miller speaking.',
    'Hi.',
    'Hello? Who is this?',
    'Smith.',
  ],
  held: [
    'Yes, hello?',
    'Hello, hello?',
    'Good afternoon.',
    'This is Peter.',
    'Johnson, hello?',
    'Yeah?',
    'Good evening, Maria speaking.',
    'Hi, it is Tom.',
  ],
}

/** Greetings of people who answer for a company, followed by silence. */
export const COMPANIES: Record<Half, readonly string[]> = {
  build: [
    'Good morning, Miller and Sons, this is Anna speaking, how can I help you?',
    'Thank you for calling the Green Hotel, you are speaking with Tom.',
    'Northern Insurance, claims department, Smith speaking, good afternoon.',
    'Hello and welcome to the dental practice of Doctor Brown, how may I help you today?',
    'City library, information desk, what can I do for you?',
    'Welcome to Blue River Travel, my name is James, how can I help?',
  ],
  held: [
    'Good afternoon, Wilson and Partners, you are speaking with Maria, what can I do for you?',
    'Thanks for calling the garage on Station Road, Peter here.',
    'Southern Energy, customer service, Johnson speaking, good morning.',
    'Hello, this is the office of Doctor Clark, my name is Susan, how may I help?',
    'Town hall, registry office, good morning, how can I help you?',
    'Welcome to Silver Bank, you have reached the front desk, this is Paul.',
  ],
}

/** Greetings of machines, before the beep. */
export const MACHINES: Record<Half, readonly string[]> = {
  build: [
    'Hello, you have reached the voicemail of Anna Miller. Please leave a message after the tone.',
    'The person you are calling is not available. At the tone, please record your message.',
    'Hi, this is Tom. I cannot come to the phone right now, but leave me a message and I will call you back.',
    'You have reached five five five, one two three four. Please leave your name and number.',
    'Thank you for calling Miller and Sons. Our office is closed at the moment.',
    'Your call has been forwarded to an automated voice message system.',
    'Hey, it is Jim! You know what to do.',
    'We are not at home. Please speak after the beep.',
    'This is the mailbox of Doctor Brown. In urgent cases please call the hospital.',
    'Sorry we missed you. Leave a message and have a great day.',
    'The number you have dialled is not answering. Please try again later.',
    'Hello. You are connected to the answering machine of the Green family.',
  ],
  held: [
    'Hi, you have reached Peter. Please leave a message and I will get back to you.',
    'The mobile customer you have called cannot be reached. Please leave a message after the signal.',
    'Welcome to the voice mail service. Nobody can take your call at the moment.',
    'Hello, we are out at the moment. Talk to the machine, please.',
    'You have called the garage. Our opening hours are from eight to five.',
    'Good day. This is the answering service of Wilson and Partners.',
    'I am probably in a meeting. Leave your number.',
    'Maria here. Leave a message!',
    'The subscriber is busy or out of reach. Record your message after the beep.',
    'Nobody is available to take your call. Please leave a message after the tone.',
    'Thanks for calling. We will answer as soon as we can, just tell us who you are.',
    'This number does not take calls. Please send us a text message instead.',
  ],
}

export const VOICES: Record<Half, readonly string[]> = {
  build: ['slt', 'rms', 'kal16'],
  held: ['awb', 'kal', 'slt', 'rms'],
}

/** Beeps of machines: pitch [Hz] and length [ms]. */
export const BEEPS: Record<Half, readonly (readonly [hz: number, ms: number])[]> = {
  build: [
    [1000, 200],
    [1400, 400],
    [440, 500],
    [850, 250],
    [2000, 150],
  ],
  held: [
    [950, 300],
    [1200, 160],
    [620, 800],
    [1750, 220],
    [525, 350],
  ],
}
