/** What a caller may say that needs no answer from the documents. */
export type Act =
  | 'hello'
  | 'how_are_you'
  | 'thanks'
  | 'goodbye'
  | 'who'
  | 'robot'
  | 'person'
  | 'call_back'
  | 'repeat'
  | 'slower'
  | 'can_hear'
  | 'wait'
  | 'yes'
  | 'no'
  | 'nothing_else'
  | 'help'
  | 'clock'
  | 'date'
  | 'language'
  | 'praise'
  | 'anger'

const PERSON =
  /\b((real|live|actual|human) (person|being|human|agent|operator|someone|somebody)|human( being)?|operator|representative|agent|colleague)\b|\b(speak|talk|speaking|talking) (to|with) (a |an |the )?(person|someone|somebody|manager|boss|supervisor|staff|anyone|anybody)\b|\b(put|patch|connect|transfer) me\b/

const CALL_BACK = /\b(call|ring|phone) me (back|later|again|tomorrow)\b|\b(a|get a|have a) (callback|call back)\b/

/** Patterns for a whole utterance without polite words. The first match counts. */
const ACTS: readonly (readonly [RegExp, Act])[] = [
  [
    /^(are you|am i (talking|speaking) (to|with)|is this|is that) (a |an )?(real |actual |live )?(robot|machine|computer|bot|human( being)?|person|ai|recording|real|answering machine|machine or a human)( or a? ?(human|person|robot|machine))?$/,
    'robot',
  ],
  [CALL_BACK, 'call_back'],
  [PERSON, 'person'],
  [
    /^(sorry |pardon |what )?((can|could|would|will) you )?(say|repeat|tell me|run) (that|it|this|what you said|the last (part|bit|one))( (again|once more|one more time|please|by me|past me))*( please)?$|^(again|once more|one more time|pardon( me)?|come again|what|what was that( again)?|huh|sorry|excuse me|what did you (just )?say|i (didn t|did not|couldn t|could not) (quite )?(hear|catch|get|understand) (that|you|it)|repeat|say again|see that again|i m sorry)$|\b(say|repeat|see) (that|it|this) (again|once more|one more time)\b|\b(repeat|again) (that|it|please)$|^can you repeat$/,
    'repeat',
  ],
  [
    /\b(speak|talk|say it|say that|go|a (bit|little)) (more )?(slowly|slower|louder|clearly|up)\b|\btoo (fast|quiet)\b/,
    'slower',
  ],
  [
    /^(hello )?(can|do) you hear me( now)?$|^(are you|you) (still )?there$|^is (anybody|anyone|somebody) there$/,
    'can_hear',
  ],
  [
    /^(hold on|wait|one (second|moment|sec|minute)|(just )?a (second|moment|sec|minute)|hang on|let me think)( please)?$/,
    'wait',
  ],
  [
    /^(that s|that is|that was|that will be) (all|it|everything)( i (wanted|needed)( to know)?)?( for (now|today))?$|^(no )?(nothing|nothing else|i m (good|fine|all set|done))$|^no (that s|that is) (all|it|everything)$|^no(pe)? (i m|we re) (good|fine|done|all set)$|^no (thank you|thanks|thank you very much)$|^(that s|that is) all$/,
    'nothing_else',
  ],
  [
    /^((no|okay|ok|great|perfect|alright|all right|thank you|thanks|very much|so much|for your help|that s all|that s it|i m good|well|then|cheers) )*(good ?bye?|bye|bye bye|see you( later| soon)?|have a (nice|good|great) (day|one|evening|weekend|night)|talk to you later|take care|good night|so long|cheerio|i (have|need|ve got) to go)( (then|now|goodbye|bye))*$/,
    'goodbye',
  ],
  [
    /^(thanks|thank you|thank you (very|so) much|thanks a lot|many thanks|cheers|much appreciated|(that s|that is|that was) (very )?(kind|helpful|nice)( of you)?)$/,
    'thanks',
  ],
  [
    /^(how are you|how s it going|how are you doing|how do you do|what s up|how is it going)( today| doing)?$/,
    'how_are_you',
  ],
  [
    /^(who are you|who am i (talking|speaking) (to|with)|who is (this|that|speaking)|who s (this|that|there|speaking)|what s your name|what is your name|do you have a name|what are you|your name|and your name|(what|which) (company|business|number) is this|where (am i|did i call)|is this the right number)$/,
    'who',
  ],
  [
    /^(what can you do|what can i ask( you)?|how can you help( me)?|help|help me|can you help( me)?|i need help|i need some help|i have a problem|i have a question|what do you know|what can you help( me)? with|can i ask you something)$/,
    'help',
  ],
  [/^(what time is it|what s the time|what is the time|do you have the time)( now)?$/, 'clock'],
  [
    /^(what day is (it|today)|what s the date|what is the date|what is today|what s today s date|what is today s date)( today)?$/,
    'date',
  ],
  [
    /^(do you speak|can you speak|do you understand|is there anyone who speaks|parlez vous|habla|sprechen sie) \w+$/,
    'language',
  ],
  [
    /^((this|that|you|it) (is|are|s|re) )?(stupid|useless|terrible|awful|crazy|an idiot|bad|annoying|no help)$|^(shut up|damn|fuck( you)?|shit|this is (ridiculous|a joke))$/,
    'anger',
  ],
  [
    /^(great|perfect|wonderful|excellent|good|nice|cool|awesome|lovely|fantastic|amazing|that s (great|good|perfect|fine)|you re (great|good|nice|funny)|i see|got it|alright|all right|fine|understood|makes sense)$/,
    'praise',
  ],
  [
    /^(yes|yeah|yep|yup|sure|of course|okay|ok|yes please|please|please do|go ahead|that would be (great|nice|good)|absolutely|definitely|yes i would|yes i do|i would|why not|do that|correct|right|exactly)$/,
    'yes',
  ],
  [/^(no|nope|nah|not really|no i don t|not now|not today|rather not|no need)$/, 'no'],
  [
    /^(hello|hi|hey|good (morning|afternoon|evening|day)|greetings|howdy|hiya|hello there|hi there|hey there|hello hello)$/,
    'hello',
  ],
]

const FILLER = /\b(um+|uh+|erm?|ah|oh|well|so|okay|ok|please|just|like|you know|actually|then|now)\b/g

/** The act that these plain words are; null: a question or a statement. */
export function actOf(plain: string): Act | null {
  const short = strip(plain.replace(FILLER, ' '))
  const tries = [
    plain,
    short,
    strip(short.replace(POLITE, ' ')),
    strip(short.replace(POLITE, ' ').replace(PLEASED, ' ')),
  ]
  for (const words of tries) {
    if (words === '') continue
    const found = ACTS.find(([pattern]) => pattern.test(words))
    if (found !== undefined) return found[1]
  }
  return null
}

const POLITE = /\b(hello|hi|hey|sorry|thanks|thank you|there|very much|hm+|yes|yeah)\b/g
const PLEASED = /\b(great|perfect|cheers|alright|right|good|lovely|wonderful|fine)\b/g
const strip = (words: string): string => words.replace(/ +/g, ' ').trim()
