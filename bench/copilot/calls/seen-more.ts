import { agent, customer, type Half } from './labelled-call.ts'

// More of the seen half, only as text, in the loose words of people who do not know the profile.

const GYM = {
  name: 'Harbour Fitness',
  language: 'en',
  stages: [
    {
      key: 'open',
      label: 'Opening',
      checklist: [
        { key: 'greet', label: 'Greeted', phrases: ['thank you for calling', 'welcome to'] },
        { key: 'goal', label: 'Goal', phrases: ['what are you hoping to achieve', 'what is your goal'] },
      ],
    },
    {
      key: 'offer',
      label: 'Offer',
      checklist: [
        { key: 'trial', label: 'Trial', phrases: ['free trial', 'try it for a week'] },
        { key: 'price', label: 'Price', phrases: ['pounds a month', 'the membership costs'] },
      ],
    },
    {
      key: 'close',
      label: 'Closing',
      checklist: [{ key: 'bye', label: 'Goodbye', phrases: ['see you soon', 'have a good day'] }],
    },
  ],
  fields: [
    { key: 'name', label: 'Name', type: 'name' },
    { key: 'email', label: 'Email', type: 'email' },
    { key: 'start', label: 'First visit', type: 'date', hint: 'day of the first visit' },
    { key: 'time', label: 'Time', type: 'time', hint: 'time of the first visit' },
    { key: 'plan', label: 'Plan', type: 'choice', options: ['off-peak', 'full', 'family'] },
    { key: 'visits', label: 'Visits a week', type: 'number', hint: 'how often a week' },
    { key: 'injury', label: 'Injury', type: 'boolean', hint: 'any injuries or health problems' },
  ],
  objections: [
    {
      key: 'price',
      label: 'Price',
      triggers: ['too expensive', 'cannot afford'],
      examples: ['That is a lot of money', 'The other gym is cheaper'],
    },
    {
      key: 'time',
      label: 'No time',
      triggers: ['no time'],
      examples: ['I am too busy to go', 'I work until late every day'],
    },
    {
      key: 'distance',
      label: 'Too far',
      triggers: ['too far'],
      examples: ['It takes me half an hour to get there', 'I live on the other side of town'],
    },
    {
      key: 'contract',
      label: 'Contract',
      triggers: ['locked in'],
      examples: ['I do not want to sign a long contract', 'A year is a long commitment'],
    },
  ],
  alerts: [
    { key: 'cancel', kind: 'phrase', label: 'Cancels', phrases: ['cancel my membership', 'leave the gym'] },
    { key: 'boss', kind: 'customer_asks_for_supervisor', label: 'Wants the manager' },
  ],
  compliance: {
    required_disclosures: [
      { key: 'recorded', label: 'Recording', phrases: ['calls are recorded', 'this call is recorded'] },
      { key: 'notice', label: 'Notice', phrases: ['one month notice', 'cancel with a month of notice'] },
    ],
    forbidden_phrases: [{ phrase: 'you will lose weight' }, { phrase: 'best gym in town' }],
  },
}

const CRM = {
  name: 'Ledgerly',
  language: 'en',
  stages: [
    {
      key: 'open',
      label: 'Opening',
      checklist: [
        { key: 'why', label: 'Why', phrases: ['the reason I am calling', 'I am calling because'] },
        { key: 'time', label: 'Time', phrases: ['is this a good time', 'do you have a minute'] },
      ],
    },
    {
      key: 'needs',
      label: 'Needs',
      checklist: [
        { key: 'now', label: 'Today', phrases: ['what do you use today', 'how do you keep track'] },
        { key: 'team', label: 'Team', phrases: ['how big is your team', 'how many people'] },
        { key: 'who', label: 'Decides', phrases: ['who makes the decision', 'who else is involved'] },
      ],
    },
    {
      key: 'next',
      label: 'Next step',
      checklist: [
        { key: 'demo', label: 'Demo', phrases: ['schedule a demo', 'show you a demo', 'send you an invite'] },
      ],
    },
  ],
  fields: [
    { key: 'name', label: 'Name', type: 'name' },
    { key: 'phone', label: 'Phone', type: 'phone' },
    { key: 'email', label: 'Email', type: 'email' },
    { key: 'team', label: 'Team size', type: 'number', hint: 'people in the team' },
    { key: 'budget', label: 'Budget', type: 'money' },
    { key: 'tool', label: 'Tool today', type: 'choice', options: ['spreadsheet', 'paper', 'another system'] },
    { key: 'demo', label: 'Demo', type: 'date', hint: 'day of the demo' },
    { key: 'office', label: 'Office', type: 'address' },
  ],
  objections: [
    {
      key: 'price',
      label: 'Price',
      triggers: ['too expensive', 'over our budget'],
      examples: ['We do not have the budget for that', 'Your competitor charges less'],
    },
    {
      key: 'happy',
      label: 'Happy as is',
      triggers: ['we are happy with'],
      examples: ['We already use another system', 'What we have works fine for us'],
    },
    {
      key: 'decide',
      label: 'Does not decide',
      triggers: ['not my decision'],
      examples: ['I have to ask my boss', 'My partner decides about these things'],
    },
    {
      key: 'later',
      label: 'Not now',
      triggers: ['not a good time'],
      examples: ['Call me again next quarter', 'We have other priorities at the moment'],
    },
    {
      key: 'mail',
      label: 'Send something',
      triggers: ['send me some information'],
      examples: ['Just send me an email with the details'],
    },
    {
      key: 'trust',
      label: 'Trust',
      triggers: ['never heard of you'],
      examples: ['How do I know that our data is safe', 'I do not trust the cloud'],
    },
  ],
  alerts: [
    { key: 'angry', kind: 'phrase', label: 'Complains', phrases: ['report you', 'stop calling me'] },
    { key: 'boss', kind: 'customer_asks_for_supervisor', label: 'Wants the manager' },
  ],
  compliance: {
    required_disclosures: [
      { key: 'who', label: 'Who calls', text: 'I am calling on behalf of Ledgerly', phrases: [] },
      { key: 'recorded', label: 'Recording', text: 'This call is being recorded for training' },
    ],
    forbidden_phrases: [{ phrase: 'guaranteed return' }, { phrase: 'everybody else is buying' }],
  },
}

const BITUACH = {
  name: 'ביטוח הגל',
  language: 'he',
  stages: [
    {
      key: 'open',
      label: 'פתיחה',
      checklist: [
        { key: 'hello', label: 'ברכה', phrases: ['תודה שפנית', 'ברוכים הבאים'] },
        { key: 'id', label: 'זיהוי', phrases: ['מה שמך המלא', 'איך קוראים לך'] },
      ],
    },
    {
      key: 'claim',
      label: 'תביעה',
      checklist: [
        { key: 'what', label: 'מה קרה', phrases: ['מה קרה', 'ספר לי על האירוע'] },
        { key: 'when', label: 'מתי', phrases: ['מתי זה קרה', 'באיזה תאריך'] },
      ],
    },
    {
      key: 'close',
      label: 'סיום',
      checklist: [{ key: 'bye', label: 'פרידה', phrases: ['המשך יום טוב', 'נשמח לעמוד לשירותך'] }],
    },
  ],
  fields: [
    { key: 'name', label: 'שם', type: 'name' },
    { key: 'phone', label: 'טלפון', type: 'phone' },
    { key: 'when', label: 'תאריך האירוע', type: 'date' },
    { key: 'kind', label: 'סוג', type: 'choice', options: ['רכב', 'דירה', 'בריאות'] },
    { key: 'sum', label: 'סכום הנזק', type: 'money' },
  ],
  objections: [
    {
      key: 'price',
      label: 'מחיר',
      triggers: ['יקר מדי'],
      examples: ['חברה אחרת הציעה לי פחות', 'הפרמיה עלתה הרבה'],
    },
    { key: 'slow', label: 'איטי', triggers: ['לוקח יותר מדי זמן'], examples: ['אני מחכה כבר שבועיים לתשובה'] },
    { key: 'think', label: 'לחשוב', triggers: ['אני אחשוב על זה'], examples: ['אני צריך להתייעץ עם אשתי'] },
  ],
  alerts: [
    { key: 'sue', kind: 'phrase', label: 'תביעה', phrases: ['לתבוע אתכם', 'לפנות לעורך דין'] },
    { key: 'boss', kind: 'customer_asks_for_supervisor', label: 'מנהל' },
  ],
  compliance: {
    required_disclosures: [{ key: 'recorded', label: 'הקלטה', phrases: ['השיחה מוקלטת', 'השיחה מתועדת'] }],
    forbidden_phrases: [{ phrase: 'אין שום סיכון' }],
  },
}

export const MORE: Pick<Half, 'profiles' | 'calls'> = {
  profiles: { gym: GYM, crm: CRM, bituach: BITUACH },
  calls: [
    {
      name: 'seen gym busy',
      profile: 'gym',
      turns: [
        agent(
          ['Hi, thanks for calling Harbour Fitness, this is Joe.', 'item:open/greet'],
          ['Just to let you know, all our calls are recorded.', 'disclosure:recorded'],
        ),
        customer('Hi Joe. I saw your ad and I wanted to know how it works.'),
        agent(['Sure. So what are you hoping to achieve with us?', 'item:open/goal', 'stage:offer']),
        customer('Well, mainly I want to get fit again after the baby.'),
        agent('Lovely. And who am I talking to?'),
        customer(["I'm Rebecca Moore.", 'field:name=Rebecca Moore']),
        agent('How often a week would you like to come?'),
        customer(['Maybe three times, if I can.', 'field:visits=3']),
        agent(
          ['You can have a free trial first.', 'item:offer/trial'],
          ['After that the membership costs thirty five pounds a month.', 'item:offer/price', 'stage:close'],
        ),
        customer(["Hmm, that's quite a lot of money for me.", 'objection:price']),
        agent('There is also an off-peak plan.'),
        customer("To be honest I'm always so busy.", ['And I often have to work until late.', 'objection:time']),
        agent(['Okay. You will lose weight in no time!', 'forbidden:0']),
        customer(['I think I would take the off-peak one then.', 'field:plan=off-peak']),
        agent(
          ['You can cancel with one month notice.', 'disclosure:notice'],
          ['Have a good day and see you soon!', 'item:close/bye'],
        ),
      ],
    },
    {
      name: 'seen gym far',
      profile: 'gym',
      turns: [
        agent(['Welcome to Harbour Fitness, how can I help?', 'item:open/greet']),
        customer('Hello, my doctor told me to exercise more.'),
        agent('Good idea. Do you have any injuries or health problems?'),
        customer(['No, nothing serious.', 'field:injury=false']),
        agent(['And what would your goal be?', 'item:open/goal', 'stage:offer']),
        customer('Just to sleep better, really.'),
        agent(['Why not try it for a week?', 'item:offer/trial']),
        customer(
          ['The thing is, I live right across town.', 'objection:distance'],
          "It'd take me forty minutes to get there by bus.",
        ),
        agent('We have a second studio near the station.'),
        customer('Oh, that is good to know.', [
          'But I would rather not be tied to a contract for a year.',
          'objection:contract',
        ]),
        agent('We have a monthly one too. When would you like to come in for your first visit?'),
        customer(['How about on the twelfth of May?', 'field:start={year}-05-12']),
        agent('At what time?'),
        customer(['Half past six in the evening would be great.', 'field:time=18:30']),
        agent('Great. And your email?'),
        customer(['It is tom underscore reed at example dot org', 'field:email=tom_reed@example.org']),
        agent(['Super. See you soon then.', 'item:close/bye', 'stage:close']),
      ],
    },
    {
      name: 'seen gym leaves',
      profile: 'gym',
      turns: [
        agent(
          ['Thank you for calling Harbour Fitness.', 'item:open/greet'],
          ['This call is recorded.', 'disclosure:recorded'],
        ),
        customer(['Hi, I need to cancel my membership please.', 'alert:cancel']),
        agent('I am sorry to hear that. May I ask why?'),
        customer(
          ['I can get the same thing at another gym for half the price.', 'objection:price'],
          'The showers are broken half of the time as well.',
        ),
        agent('What if I offered you a break of two months?'),
        customer(['No. Could I speak with a manager, please?', 'alert:boss']),
        agent('Of course. What name is it under?'),
        customer(['Under Daniel Price.', 'field:name=Daniel Price']),
        agent("We never said we are the best gym in town, but I'll see what I can do."),
        customer(
          "I'm not going to leave the gym because of the people, they are lovely.",
          'It is the price of petrol.',
        ),
        agent(['You need to give one month of notice, just so you know.', 'disclosure:notice']),
        customer('Fine, I know that. I am not busy tomorrow if he wants to ring me.'),
        agent(['Have a good day.', 'item:close/bye', 'stage:close']),
      ],
    },
    {
      name: 'seen crm cold',
      profile: 'crm',
      turns: [
        agent(
          ["Hi, it's Sam, calling on behalf of Ledgerly.", 'disclosure:who'],
          ["The reason I'm calling is your invoices.", 'item:open/why'],
          ['Have you got a minute?', 'item:open/time', 'stage:needs'],
        ),
        customer(['Honestly, this is not a great time.', 'objection:later'], 'What is it about?'),
        agent(['How do you keep track of your customers at the moment?', 'item:needs/now']),
        customer(
          ['We do it all in a spreadsheet.', 'field:tool=spreadsheet'],
          ['It works just fine for us.', 'objection:happy'],
        ),
        agent(['I see. How big is your sales team?', 'item:needs/team']),
        customer(["There's about fifteen of us.", 'field:team=15']),
        agent(['And who else would be involved in this?', 'item:needs/who', 'stage:next']),
        customer(['I would have to check with my boss first.', 'objection:decide']),
        agent('I understand.', ['And everybody else is buying it already, you know.', 'forbidden:1']),
        customer(['Why don’t you just email me the details?', 'objection:mail']),
        agent('Happy to. Which address?'),
        customer(['maria at lake dot example dot com', 'field:email=maria@lake.example.com']),
        agent(["Great, I'll send you an invite for next week.", 'item:next/demo']),
      ],
    },
    {
      name: 'seen crm budget',
      profile: 'crm',
      turns: [
        agent(
          ['Good morning, I am calling on behalf of Ledgerly.', 'disclosure:who'],
          ['This call is being recorded for training purposes.', 'disclosure:recorded'],
          ['Is now a good time?', 'item:open/time'],
        ),
        customer('Yes, go ahead, I have a few minutes.'),
        agent(['What do you use today for your contacts?', 'item:needs/now', 'stage:needs']),
        customer(["We've already got another system for that.", 'objection:happy', 'field:tool=another system']),
        agent('And what do you pay for it?'),
        customer('About two hundred.', ["We don't have any budget left this year.", 'objection:price']),
        agent('What budget would be realistic?'),
        customer(['Up to three hundred euros.', 'field:budget=300 EUR']),
        agent('We could do that.'),
        customer(
          ['How can I be sure that our data would be safe with you?', 'objection:trust'],
          "I've never heard of your company.",
        ),
        agent(['We can show you a demo of how it is protected.', 'item:next/demo', 'stage:next']),
        customer(['Call back in the next quarter, please.', 'objection:later']),
        agent('Which day would suit you for the demo?'),
        customer(['The second of October is fine.', 'field:demo={year}-10-02']),
      ],
    },
    {
      name: 'seen crm visit',
      profile: 'crm',
      turns: [
        agent(["I'm calling because you asked for prices.", 'item:open/why']),
        customer('Right, I did. Thanks for getting back to me.'),
        agent(['Do you have a minute?', 'item:open/time', 'stage:needs']),
        customer('I do. We are a small shop, no system so far.', ['Everything is on paper here.', 'field:tool=paper']),
        agent(['How many people work with you?', 'item:needs/team']),
        customer(['Just eight.', 'field:team=8']),
        agent(['Who makes the decision on your side?', 'item:needs/who']),
        customer(["That's up to my business partner, she decides on such things.", 'objection:decide']),
        agent('Where is your office?'),
        customer(['We are at 40 Mill Road.', 'field:office=40 Mill Road']),
        agent(['Could we schedule a demo there?', 'item:next/demo', 'stage:next']),
        customer(['Other vendors charge a good deal less than you do.', 'objection:price']),
        agent('May I have your phone number?'),
        customer(['Yes, 202-555-0143.', 'field:phone=+12025550143']),
        agent('There is no guaranteed return, of course.'),
        customer('I know. My boss was happy with what you sent. The budget is not a problem for us.'),
      ],
    },
    {
      name: 'seen crm stop',
      profile: 'crm',
      turns: [
        agent(["Hello, I'm calling on behalf of Ledgerly.", 'disclosure:who']),
        customer(['You again. I told you to stop calling me.', 'alert:angry']),
        agent('I am sorry, I did not know that. Who am I speaking with?'),
        customer(
          ['This is Carol Adams.', 'field:name=Carol Adams'],
          ["I'll report you if this happens again.", 'alert:angry'],
        ),
        agent("I won't report you as interested then."),
        customer(['I want to talk to whoever is in charge.', 'alert:boss']),
        agent(['One moment. By the way, this call is recorded for training.', 'disclosure:recorded']),
        customer('We have a big project right now and all of my people are on it.', [
          'We simply have other priorities now.',
          'objection:later',
        ]),
      ],
    },
    {
      name: 'seen bituach rechev',
      profile: 'bituach',
      turns: [
        agent(
          ['שלום, תודה שפנית לביטוח הגל.', 'item:open/hello'],
          ['לידיעתך השיחה מוקלטת ומתועדת.', 'disclosure:recorded'],
          ['איך קוראים לך?', 'item:open/id', 'stage:claim'],
        ),
        customer(['קוראים לי יוסי מזרחי.', 'field:name=יוסי מזרחי']),
        agent(['ומה בעצם קרה?', 'item:claim/what']),
        customer('מישהו נכנס לי ברכב בחניה.', ['זה ביטוח רכב.', 'field:kind=רכב']),
        agent(['ובאיזה תאריך זה היה?', 'item:claim/when', 'stage:close']),
        customer(['בשלושה ביוני.', 'field:when={year}-06-03']),
        agent('מה סכום הנזק?'),
        customer(['בערך אלפיים שקל.', 'field:sum=2000 ILS'], ['כבר שבועיים אני מחכה לתשובה!', 'objection:slow']),
        agent('אני מצטערת על העיכוב. מה מספר הטלפון שלך?'),
        customer(['050-1234567', 'field:phone=+972501234567'], ['אם זה יימשך אני אפנה לעורך דין.', 'alert:sue']),
        agent(['המשך יום טוב.', 'item:close/bye']),
      ],
    },
    {
      name: 'seen bituach dira',
      profile: 'bituach',
      turns: [
        agent(['ברוכים הבאים לביטוח הגל. מה שמך המלא?', 'item:open/hello', 'item:open/id', 'stage:claim']),
        customer(['שמי נועה ברק.', 'field:name=נועה ברק']),
        agent('במה אוכל לעזור?'),
        customer(['אני רוצה לחדש ביטוח לדירה.', 'field:kind=דירה'], ['אבל הפרמיה עלתה מאוד השנה.', 'objection:price']),
        agent('אני יכול לתת לך הנחה.'),
        customer('חברה אחרת מציעה לי פחות.'),
        agent(['אין כאן שום סיכון בשבילך.', 'forbidden:0']),
        customer(['אני צריכה להתייעץ קודם עם בעלי.', 'objection:think'], ['מי המנהל שלך?', 'alert:boss']),
        agent(['השיחה מתועדת כמובן. נשמח לעמוד לשירותך תמיד.', 'disclosure:recorded', 'item:close/bye', 'stage:close']),
      ],
    },
  ],
}
