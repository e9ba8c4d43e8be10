import { agent, customer, type Half, over } from './labelled-call.ts'
import { MORE } from './seen-more.ts'

// The half with which the fast path and the recogniser's queue were developed.

const NET = {
  name: 'Clearline',
  language: 'en',
  stages: [
    {
      key: 'open',
      label: 'Opening',
      checklist: [
        { key: 'offer', label: 'Help offered', phrases: ['how can I help you', 'what can I do for you'] },
        {
          key: 'verify',
          label: 'Verified',
          phrases: ['may I have your name', 'who am I speaking with', 'confirm your name'],
        },
      ],
    },
    {
      key: 'needs',
      label: 'Needs',
      checklist: [
        { key: 'use', label: 'Use', phrases: ['what do you use the internet for', 'how do you use it'] },
        { key: 'people', label: 'People', phrases: ['how many people live', 'how many of you'] },
      ],
    },
    {
      key: 'pitch',
      label: 'Offer',
      checklist: [
        { key: 'plan', label: 'Plan named', phrases: ['I would recommend', 'the best plan for you'] },
        { key: 'price', label: 'Price named', phrases: ['dollars a month', 'it costs'] },
      ],
    },
    {
      key: 'close',
      label: 'Closing',
      checklist: [{ key: 'bye', label: 'Goodbye', phrases: ['have a nice day', 'thank you for calling'] }],
    },
  ],
  fields: [
    { key: 'name', label: 'Name', type: 'name' },
    { key: 'phone', label: 'Phone', type: 'phone' },
    { key: 'email', label: 'Email', type: 'email' },
    { key: 'visit', label: 'Visit', type: 'date', hint: 'day of the technician' },
    { key: 'budget', label: 'Budget', type: 'money' },
    { key: 'people', label: 'People in the house', type: 'number', hint: 'how many people live there' },
    { key: 'plan', label: 'Plan', type: 'choice', options: ['basic', 'family', 'business'] },
    { key: 'contract', label: 'Current contract', type: 'boolean', hint: 'under contract with another company' },
    { key: 'order', label: 'Order number', type: 'text', pattern: '[A-Z][0-9]{4}' },
    { key: 'street', label: 'Address', type: 'address' },
  ],
  objections: [
    {
      key: 'price',
      label: 'Price',
      triggers: ['too expensive'],
      examples: ['That costs too much money', 'I pay less at the moment'],
    },
    { key: 'time', label: 'No time', triggers: ['no time'], examples: ['I am busy right now, call me later'] },
    { key: 'think', label: 'Thinks', triggers: ['think about it'], examples: ['I have to talk to my husband first'] },
  ],
  alerts: [
    { key: 'cancel', kind: 'phrase', label: 'Cancels', phrases: ['cancel my contract', 'close my account'] },
    { key: 'lawyer', kind: 'phrase', label: 'Lawyer', phrases: ['talk to my lawyer', 'take you to court'] },
    { key: 'boss', kind: 'customer_asks_for_supervisor', label: 'Wants the manager' },
  ],
  compliance: {
    required_disclosures: [
      { key: 'recorded', label: 'Recording', phrases: ['this call is recorded', 'this call may be recorded'] },
      { key: 'term', label: 'Term', phrases: ['contract runs for twelve months', 'minimum term is twelve months'] },
    ],
    forbidden_phrases: [{ phrase: 'we guarantee' }, { phrase: 'there is no risk' }],
  },
}

const KAV = {
  name: 'קו ישיר',
  language: 'he',
  stages: [
    {
      key: 'open',
      label: 'פתיחה',
      checklist: [
        { key: 'offer', label: 'הצעת עזרה', phrases: ['איך אני יכול לעזור', 'במה אפשר לעזור'] },
        { key: 'verify', label: 'זיהוי', phrases: ['מה השם שלך', 'עם מי אני מדבר'] },
      ],
    },
    {
      key: 'needs',
      label: 'צרכים',
      checklist: [{ key: 'people', label: 'נפשות', phrases: ['כמה אנשים גרים', 'כמה נפשות בבית'] }],
    },
    {
      key: 'close',
      label: 'סיום',
      checklist: [{ key: 'bye', label: 'פרידה', phrases: ['שיהיה לך יום נעים', 'תודה שהתקשרת'] }],
    },
  ],
  fields: [
    { key: 'name', label: 'שם', type: 'name' },
    { key: 'phone', label: 'טלפון', type: 'phone' },
    { key: 'visit', label: 'תאריך ביקור', type: 'date' },
    { key: 'plan', label: 'מסלול', type: 'choice', options: ['בסיסי', 'משפחתי', 'עסקי'] },
    { key: 'budget', label: 'תקציב', type: 'money' },
  ],
  objections: [
    { key: 'price', label: 'מחיר', triggers: ['יקר מדי'], examples: ['אני משלם פחות היום', 'זה עולה יותר מדי כסף'] },
    { key: 'time', label: 'אין זמן', triggers: ['אין לי זמן'], examples: ['אני עסוק עכשיו, תתקשר אחר כך'] },
  ],
  alerts: [
    { key: 'cancel', kind: 'phrase', label: 'ביטול', phrases: ['לבטל את החוזה', 'לסגור את החשבון'] },
    { key: 'boss', kind: 'customer_asks_for_supervisor', label: 'מנהל' },
  ],
  compliance: {
    required_disclosures: [{ key: 'recorded', label: 'הקלטה', phrases: ['השיחה מוקלטת'] }],
    forbidden_phrases: [{ phrase: 'אנחנו מבטיחים' }],
  },
}

export const SEEN: Half = {
  name: 'seen',
  profiles: { net: NET, kav: KAV, ...MORE.profiles },
  calls: [
    {
      name: 'seen offer',
      profile: 'net',
      sound: {
        voices: { agent: 'rms', customer: 'slt' },
        levels: { agent: -22, customer: -28 },
        noise: { kind: 'car', levelDb: -50 },
      },
      turns: [
        agent(
          'Hello, this is Clearline.',
          ['This call may be recorded.', 'disclosure:recorded'],
          ['How can I help you today?', 'item:open/offer'],
        ),
        customer('Hi, I am looking for a new internet connection.'),
        agent(['May I have your name, please?', 'item:open/verify', 'stage:needs']),
        customer(['My name is Susan Taylor.', 'field:name=Susan Taylor']),
        agent(['What do you use the internet for?', 'item:needs/use']),
        customer('Mostly for films and for my work.'),
        agent(['How many people live in your house?', 'item:needs/people', 'stage:pitch']),
        customer(['There are five of us.', 'field:people=5']),
        agent(
          ['Then I would recommend the family plan.', 'item:pitch/plan'],
          ['It is forty dollars a month.', 'item:pitch/price', 'stage:close'],
        ),
        over(customer('Hm.', ['That is too expensive for me.', 'objection:price'])),
        agent('I understand.', ['The minimum term is twelve months.', 'disclosure:term']),
        customer(['I will have to think about it.', 'objection:think']),
        agent(['Of course. Have a nice day.', 'item:close/bye']),
      ],
    },
    {
      name: 'seen angry',
      profile: 'net',
      sound: {
        voices: { agent: 'slt', customer: 'rms' },
        levels: { agent: -24, customer: -32 },
        noise: { kind: 'babble', levelDb: -50 },
      },
      turns: [
        agent('Clearline, good evening.', ['What can I do for you?', 'item:open/offer']),
        customer('My internet has not worked for three days.', ['I want to cancel my contract.', 'alert:cancel']),
        agent('I am very sorry about that.', ['Who am I speaking with?', 'item:open/verify', 'stage:needs']),
        customer(['This is George Wilson.', 'field:name=George Wilson']),
        agent('Thank you. Which telephone number do we reach you at?'),
        customer(['It is five one two, five five five, zero one nine eight.', 'field:phone=+15125550198']),
        agent(['I promise, we guarantee that it works tomorrow.', 'forbidden:0']),
        over(customer('No.', ['I want to speak to your manager.', 'alert:boss'])),
        agent('One moment, please.', ['By the way, this call is recorded.', 'disclosure:recorded']),
        customer('I do not care.', ['I will talk to my lawyer.', 'alert:lawyer']),
      ],
    },
    {
      name: 'seen busy',
      profile: 'net',
      sound: {
        voices: { agent: 'rms', customer: 'awb' },
        levels: { agent: -20, customer: -36 },
        noise: { kind: 'white', levelDb: -58 },
      },
      turns: [
        agent(
          ['Good morning, this call is recorded.', 'disclosure:recorded'],
          'I am calling from Clearline about your connection.',
        ),
        customer(['I have no time for this.', 'objection:time']),
        agent('It takes one minute only.', [
          'How many of you use the internet at home?',
          'item:needs/people',
          'stage:needs',
        ]),
        customer('Only my wife and I.'),
        agent(
          ['The best plan for you is the basic one.', 'item:pitch/plan', 'stage:pitch'],
          ['There is no risk in it.', 'forbidden:1'],
        ),
        customer(['I pay less at the moment.', 'objection:price']),
        agent('Are you under contract with another company?'),
        customer(['Yes, I am.', 'field:contract=true']),
        agent('When could our technician visit you? On which day?'),
        customer(['On the third of March.', 'field:visit={year}-03-03']),
        agent(['Good. Thank you for calling.', 'item:close/bye', 'stage:close']),
      ],
    },
    {
      name: 'seen order',
      profile: 'net',
      turns: [
        agent(['Hey there, how can I help?', 'item:open/offer']),
        customer('Hi, my router never came.'),
        agent(['Could you confirm your full name for me?', 'item:open/verify', 'stage:needs'], 'And the order number?'),
        customer(
          ["Sure, it's Linda Park.", 'field:name=Linda Park'],
          ['The number is B four four zero two.', 'field:order=B4402'],
        ),
        agent('Thanks. What is the best email for you?'),
        customer(['linda dot park at example dot com', 'field:email=linda.park@example.com']),
        agent('And the address?'),
        customer(['I live at 12 Baker Street.', 'field:street=12 Baker Street']),
        agent('We do not guarantee a date, but it should be there on Friday.'),
        customer("I'm not going to cancel my contract over this.", 'But it is annoying.'),
        agent(['Thanks so much for calling, have a nice day!', 'item:close/bye', 'stage:close']),
      ],
    },
    {
      name: 'seen haggle',
      profile: 'net',
      turns: [
        agent(
          ['Hi, what can we do for you?', 'item:open/offer'],
          ["Just so you know, this call's being recorded.", 'disclosure:recorded'],
        ),
        customer(['I want the business plan.', 'field:plan=business'], 'What would I pay?'),
        agent([
          "I'd recommend the family plan, it costs sixty dollars a month.",
          'item:pitch/plan',
          'item:pitch/price',
          'stage:close',
        ]),
        customer(
          ["That's way too much money.", 'objection:price'],
          ['My budget is fifty dollars.', 'field:budget=50 USD'],
        ),
        agent(['Our contracts run for twelve months.', 'disclosure:term']),
        customer(['I need to talk to my wife about it first.', 'objection:think']),
        agent(['Does anybody else live with you? How many people?', 'item:needs/people']),
        customer(['We are 4 people.', 'field:people=4']),
        agent("There's never no risk, of course."),
        customer(
          ['Call me later, I am busy right now.', 'objection:time'],
          ['My number is 512-555-0123.', 'field:phone=+15125550123'],
        ),
      ],
    },
    {
      name: 'seen threat',
      profile: 'net',
      turns: [
        agent(['Welcome to Clearline, how may I help you?', 'item:open/offer']),
        customer(["Please close my account, I've had enough.", 'alert:cancel']),
        agent(['With whom am I speaking?', 'item:open/verify', 'stage:needs']),
        customer(
          ["I'm Peter Stone.", 'field:name=Peter Stone'],
          ["If this goes on I'll take you to court.", 'alert:lawyer'],
        ),
        agent(['There really is no risk for you.', 'forbidden:1'], "I can't guarantee anything."),
        customer(['Let me talk to your supervisor.', 'alert:boss']),
        agent('Are you free tomorrow? Which day suits you for the technician?'),
        customer(['Tomorrow is fine.', 'field:visit={tomorrow}']),
        agent('You told me that it is not too expensive.'),
        customer("It's not expensive at all, it just doesn't work."),
      ],
    },
    {
      name: 'seen dani',
      profile: 'kav',
      turns: [
        agent(
          ['שלום, מדברת מיכל מקו ישיר. השיחה מוקלטת.', 'disclosure:recorded'],
          ['במה אפשר לעזור לך?', 'item:open/offer'],
        ),
        customer('היי, אני מחפש אינטרנט חדש.'),
        agent(['מה השם שלך בבקשה?', 'item:open/verify', 'stage:needs']),
        customer(['שמי דני לוי.', 'field:name=דני לוי']),
        agent(['כמה אנשים גרים אצלכם בבית?', 'item:needs/people', 'stage:close']),
        customer(['אנחנו ארבעה. אני רוצה את המסלול המשפחתי.', 'field:plan=משפחתי']),
        agent('זה עולה מאה שקלים בחודש.'),
        customer(['זה יקר לי מדי.', 'objection:price'], ['התקציב שלי הוא שמונים שקל.', 'field:budget=80 ILS']),
        agent(['אנחנו מבטיחים שזה יעבוד.', 'forbidden:0'], ['תודה שהתקשרת, שיהיה לך יום נעים.', 'item:close/bye']),
      ],
    },
    {
      name: 'seen kaas',
      profile: 'kav',
      turns: [
        agent(['קו ישיר שלום, איך אני יכולה לעזור?', 'item:open/offer']),
        customer(['האינטרנט לא עובד. אני רוצה לבטל את החוזה.', 'alert:cancel']),
        agent(['אני מצטערת. עם מי אני מדברת?', 'item:open/verify', 'stage:needs']),
        customer(['קוראים לי רחל כהן.', 'field:name=רחל כהן']),
        agent('ומה מספר הטלפון?'),
        customer(['052-7654321.', 'field:phone=+972527654321']),
        agent('מתי נוח לך שהטכנאי יגיע? באיזה תאריך?'),
        customer(['בחמישה באפריל.', 'field:visit={year}-04-05']),
        agent('אני לא מבטיחה שזה יהיה בבוקר.'),
        customer(['תני לי לדבר עם מנהל.', 'alert:boss'], ['אין לי יותר זמן לזה.', 'objection:time']),
      ],
    },
    {
      name: 'seen esek',
      profile: 'kav',
      turns: [
        agent(
          ['בוקר טוב, במה אוכל לעזור?', 'item:open/offer'],
          ['חשוב לי לציין שהשיחה הזו מוקלטת.', 'disclosure:recorded'],
        ),
        customer(['אני צריך מסלול עסקי.', 'field:plan=עסקי']),
        agent(['כמה נפשות יש בבית?', 'item:needs/people', 'stage:close']),
        customer('לא משנה. אני לא רוצה לסגור את החשבון, רק לשנות.'),
        agent('מאה חמישים שקלים.'),
        customer(['אני משלם היום פחות.', 'objection:price'], ['אני עסוק כרגע, תתקשר אליי אחר כך.', 'objection:time']),
        agent(['בסדר גמור. תודה שהתקשרת אלינו.', 'item:close/bye']),
      ],
    },
    ...MORE.calls,
  ],
}
