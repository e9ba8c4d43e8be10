/**
 * What callers say, in sets: `build` is what the hearing chain was tuned on, `held` was run when that was over, `third` once more after
 * what `held` had shown was mended, `fourth` at the end of all, said by voices that none of the others has. A sentence stands in one of them
 * alone.
 */
export const SETS = ['build', 'held', 'third', 'fourth'] as const
export type SentenceSet = (typeof SETS)[number]

export const SENTENCES: Record<SentenceSet, readonly string[]> = {
  build: [
    'What is the capital of France?',
    'When are you open on Saturday?',
    'I would like to book a table for four people.',
    'Can you tell me where my order is?',
    'How much does the delivery cost?',
    'Please connect me to a person.',
    'My name is Susan and I live in Boston.',
    'Do you have parking behind the house?',
    'I want to cancel my appointment for tomorrow.',
    'The package that you sent me was broken.',
    'Is there a doctor in the office today?',
    'Which train should I take to the airport?',
    'Half of the money has not come back yet.',
    'Could you say that again more slowly?',
    'Where can I return a pair of shoes?',
    'Thank you very much for your help.',
    'Friends of ours told us about your shop.',
    'We need two rooms for three nights.',
    'I forgot the password of my account.',
    'Should I bring anything with me?',
    'Four of the windows do not close.',
    'How long will the repair take?',
    'She asked me to call you back this afternoon.',
    'Somebody should have called me yesterday.',
  ],
  held: [
    'What time does the museum close?',
    'I am calling about the invoice from last month.',
    'Where do I find your office in the city?',
    'Can I pay with a credit card?',
    'Please change the address of my mother.',
    'How many people can sit at one table?',
    'The heating in our kitchen does not work.',
    'Who is responsible for the new contract?',
    'Have you got this coat in another colour?',
    'I would rather talk to somebody in person.',
    'Is breakfast part of the price?',
    'They promised to send me a letter.',
    'Five of the boxes are still missing.',
    'Which documents do you need from me?',
    'Her flight was late because of the storm.',
    'Could we move the meeting to the morning?',
    'Half an hour would be enough for us.',
    'My phone has stopped ringing since Monday.',
    'Shall I wait or should I call again?',
    'There is a mistake in the second line.',
    'We are looking for a present for a child.',
    'Thanks, that is all I wanted to know.',
    'Somebody left a blue bag on the bus.',
    'First I want to know what it costs.',
  ],
  third: [
    'Do you sell bread without salt?',
    'The lift in our building is out of order.',
    'I have lost the key to my room.',
    'When does the next bus leave for the station?',
    'Please send the bill to my new address.',
    'Can somebody look at my washing machine?',
    'We would like to stay until Sunday.',
    'Is the swimming pool open for children?',
    'They sold me the wrong size of boots.',
    'How far is it from the hotel to the beach?',
    'Why was my card refused this morning?',
    'I need a copy of the last letter.',
    'Could you put me through to the kitchen?',
    'My brother will pick up the keys.',
    'There are no towels in the bathroom.',
    'What happens if I arrive after midnight?',
    'Three of us do not eat any meat.',
    'Have my glasses been found in the garden?',
    'Who can help me with the new computer?',
    'It has been raining through the roof.',
    'Fill in the form for me, please.',
    'Which of the doors leads to the car park?',
    'He said that you would call before noon.',
    'Does the ticket include the boat?',
  ],
  fourth: [
    'Why has nobody answered my letter?',
    'The lamp in the hall is broken again.',
    'Could I speak to the manager, please?',
    'How do I get to your shop by bus?',
    'My daughter has left her jacket with you.',
    'Are dogs welcome in the restaurant?',
    'I would like to change my seat.',
    'Where should we put the empty bottles?',
    'Please tell him that I will be late.',
    'Is it possible to pay the rent next week?',
    'The bread that you delivered was hard.',
    'When can somebody bring the new sofa?',
    'Has the price of the tickets gone up?',
    "We have been waiting since eight o'clock.",
    'You charged me for the same thing twice.',
    'What is the name of the street?',
    'There was no water in the house last night.',
    'Her number has changed, can you write it down?',
    'Which floor is the doctor on?',
    'I think that I gave you the wrong date.',
    'Do not send anything before I call you.',
    'Should the forms be signed by both of us?',
    'A friend of mine told me to ask for you.',
    'That would be very kind of you.',
  ],
}

/** What we say to the caller. */
export const ANSWERS: readonly string[] = [
  'We are open from Monday to Friday, from nine in the morning until half past six. What else can I do for you?',
  'Your order has left our house and will be with you on Thursday. Is there anything else?',
]

/** What others in the caller's room say to each other. */
export const BABBLE: readonly string[] = [
  'He told her that nobody knew when the children would be coming home from the lake.',
  'And then we walked along the river until it was too dark to see the other side.',
  'The soup was far too salty, but the bread and the cheese were very good indeed.',
  'If the weather stays like this we might as well sit outside with everybody else.',
  'They have been building that road for years and there is still no end in sight.',
  'Did you see the game last night, the one that went on until after midnight.',
]

/** Of flite; those with a language in their names of eSpeak NG. */
const SPEAKERS: readonly string[] = ['slt', 'rms', 'awb', 'kal16']
export const VOICES: Record<SentenceSet, readonly string[]> = {
  build: SPEAKERS,
  held: SPEAKERS,
  third: SPEAKERS,
  fourth: ['kal', 'en-us', 'en-us+f2', 'en-us+m3'],
}
/** Of the others in the room. */
export const BABBLE_VOICES = SPEAKERS
