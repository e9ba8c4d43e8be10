import { agent, customer, type Half, over } from './labelled-call.ts'

// The half that is held out: run it and quote its results, but do not develop or tune anything by it.

const CLINIC = {
  name: 'Bright Dental',
  language: 'en',
  stages: [
    {
      key: 'greet',
      label: 'Greeting',
      checklist: [
        {
          key: 'clinic',
          label: 'Clinic named',
          phrases: ['thank you for calling Bright Dental', 'this is Bright Dental'],
        },
        {
          key: 'seen_before',
          label: 'Patient before?',
          phrases: ['have you been with us before', 'are you a new patient'],
        },
      ],
    },
    {
      key: 'need',
      label: 'What hurts',
      checklist: [
        { key: 'pain', label: 'Pain', phrases: ['are you in pain', 'does it hurt', 'on a scale from one to ten'] },
        { key: 'since', label: 'Since when', phrases: ['since when', 'how long have you had it'] },
      ],
    },
    {
      key: 'book',
      label: 'Appointment',
      checklist: [
        { key: 'slot', label: 'Slot offered', phrases: ['I can offer you', 'we have an opening'] },
        { key: 'insurance', label: 'Insurance', phrases: ['who is your insurance', 'do you have dental insurance'] },
      ],
    },
    {
      key: 'end',
      label: 'End',
      checklist: [{ key: 'summary', label: 'Repeated', phrases: ['let me repeat that', 'just to confirm'] }],
    },
  ],
  fields: [
    { key: 'patient', label: 'Patient name', type: 'name' },
    { key: 'mobile', label: 'Mobile number', type: 'phone' },
    { key: 'birthday', label: 'Date of birth', type: 'date', hint: 'birthday' },
    { key: 'hour', label: 'Time of day', type: 'time' },
    { key: 'insured', label: 'Dental insurance', type: 'boolean' },
    {
      key: 'treatment',
      label: 'Treatment',
      type: 'choice',
      options: ['cleaning', 'filling', 'root canal', 'whitening'],
    },
    { key: 'member', label: 'Member number', type: 'text', pattern: '[A-Z]{2}[0-9]{4}' },
  ],
  objections: [
    {
      key: 'afraid',
      label: 'Afraid',
      triggers: ['scared of the dentist'],
      examples: ['I am afraid that it will hurt a lot'],
    },
    { key: 'cost', label: 'Cost', triggers: ['cannot afford'], examples: ['That is a lot of money for a filling'] },
    {
      key: 'wait',
      label: 'Too far away',
      triggers: ['not soon enough'],
      examples: ['I cannot wait that long for an appointment'],
    },
  ],
  alerts: [
    {
      key: 'emergency',
      kind: 'phrase',
      label: 'Emergency',
      phrases: ['bleeding heavily', 'cannot breathe', 'swollen face'],
    },
    { key: 'boss', kind: 'customer_asks_for_supervisor', label: 'Wants the manager' },
  ],
  compliance: {
    required_disclosures: [
      { key: 'recording', label: 'Recording', phrases: ['this call is recorded', 'calls are being recorded'] },
      {
        key: 'fee',
        label: 'Late fee',
        phrases: ['missed appointments cost forty dollars', 'a fee for missed appointments'],
      },
    ],
    forbidden_phrases: [{ phrase: 'completely painless' }, { phrase: 'you must decide today' }],
  },
}

const TRAVEL = {
  name: 'ביטוח נסיעות',
  language: 'he',
  stages: [
    {
      key: 'hello',
      label: 'פתיחה',
      checklist: [
        { key: 'offer', label: 'הצעת עזרה', phrases: ['איך אפשר לעזור', 'במה אוכל לעזור'] },
        { key: 'ident', label: 'זיהוי', phrases: ['מה שמך המלא', 'מספר הפוליסה שלך'] },
      ],
    },
    {
      key: 'trip',
      label: 'הנסיעה',
      checklist: [
        { key: 'where', label: 'לאן', phrases: ['לאן אתם נוסעים', 'לאיזו מדינה'] },
        { key: 'illness', label: 'מחלות רקע', phrases: ['יש לך מחלות רקע', 'סובל ממחלה כלשהי'] },
      ],
    },
    { key: 'close', label: 'סיום', checklist: [{ key: 'bye', label: 'פרידה', phrases: ['נסיעה טובה ובטוחה'] }] },
  ],
  fields: [
    { key: 'name', label: 'שם', type: 'name' },
    { key: 'phone', label: 'טלפון', type: 'phone' },
    { key: 'leaves', label: 'תאריך יציאה', type: 'date' },
    { key: 'cover', label: 'כיסוי', type: 'choice', options: ['בסיסי', 'מורחב', 'ספורט אתגרי'] },
  ],
  objections: [
    { key: 'price', label: 'מחיר', triggers: ['יקר מדי', 'אין לי תקציב'], examples: ['זה המון כסף בשביל ביטוח'] },
    { key: 'need', label: 'לא צריך', triggers: ['לא צריך ביטוח'], examples: ['יש לי ביטוח דרך כרטיס האשראי'] },
  ],
  alerts: [
    { key: 'cancel', kind: 'phrase', label: 'ביטול', phrases: ['לבטל את הפוליסה'] },
    { key: 'boss', kind: 'customer_asks_for_supervisor', label: 'מנהל' },
  ],
  compliance: {
    required_disclosures: [{ key: 'recorded', label: 'הקלטה', phrases: ['השיחה מוקלטת'] }],
    forbidden_phrases: [{ phrase: 'אנחנו מתחייבים להחזיר הכול' }],
  },
}

export const HELD: Half = {
  name: 'held',
  profiles: { clinic: CLINIC, travel: TRAVEL },
  calls: [
    {
      name: 'held toothache',
      profile: 'clinic',
      sound: {
        voices: { agent: 'slt', customer: 'rms' },
        levels: { agent: -22, customer: -30 },
        noise: { kind: 'car', levelDb: -48 },
      },
      turns: [
        agent(
          ['Good morning, thank you for calling Bright Dental.', 'item:greet/clinic'],
          ['Calls are being recorded for training.', 'disclosure:recording'],
        ),
        customer('Hello.', ['My name is Robert Miller.', 'field:patient=Robert Miller']),
        agent(['Have you been with us before?', 'item:greet/seen_before', 'stage:need']),
        customer('No, this is my first time.', 'I broke a tooth yesterday evening.'),
        agent(['I am sorry to hear that. Does it hurt?', 'item:need/pain']),
        customer('Yes, and to be honest,', ['I am really scared of the dentist.', 'objection:afraid']),
        agent('We will be very gentle.', ['How long have you had the pain?', 'item:need/since', 'stage:book']),
        customer('Since last night.', ['I think I need a filling.', 'field:treatment=filling']),
        agent(
          ['I can offer you Tuesday morning.', 'item:book/slot'],
          ['Do you have dental insurance?', 'item:book/insurance', 'stage:end'],
        ),
        customer(['Yes, I do.', 'field:insured=true']),
        agent(
          ['Just to confirm, a filling on Tuesday.', 'item:end/summary'],
          ['There is a fee for missed appointments.', 'disclosure:fee'],
        ),
        customer('That is fine, thank you.'),
      ],
    },
    {
      name: 'held price',
      profile: 'clinic',
      sound: {
        voices: { agent: 'rms', customer: 'slt' },
        levels: { agent: -26, customer: -34 },
        noise: { kind: 'babble', levelDb: -52 },
      },
      turns: [
        agent(
          ['This is Bright Dental, good afternoon.', 'item:greet/clinic'],
          ['This call is recorded.', 'disclosure:recording'],
        ),
        customer('Good afternoon, I would like to ask about a treatment.'),
        agent(['Are you a new patient?', 'item:greet/seen_before', 'stage:need']),
        customer('No, I was with you last year.', ['I want whitening for my teeth.', 'field:treatment=whitening']),
        agent(
          'Certainly.',
          ['We have an opening next week.', 'item:book/slot', 'stage:book'],
          'It costs four hundred dollars.',
        ),
        over(customer('Oh dear.', ['I cannot afford that right now.', 'objection:cost'])),
        agent(['But it is completely painless.', 'forbidden:0']),
        customer(['I want to speak to a manager, please.', 'alert:boss']),
        agent('Of course.', 'What is your mobile number?'),
        customer(['It is five one two, five five five, zero one four three.', 'field:mobile=+15125550143']),
        agent([
          'Let me repeat that, five one two, five five five, zero one four three.',
          'item:end/summary',
          'stage:end',
        ]),
        customer('Yes, that is right.'),
      ],
    },
    {
      name: 'held urgent',
      profile: 'clinic',
      sound: {
        voices: { agent: 'slt', customer: 'kal16' },
        levels: { agent: -20, customer: -26 },
        noise: { kind: 'fan', levelDb: -50 },
      },
      turns: [
        agent([
          'Thanks for calling Bright Dental, this call is recorded.',
          'item:greet/clinic',
          'disclosure:recording',
        ]),
        customer(['My mouth is bleeding heavily.', 'alert:emergency'], 'I fell down the stairs.'),
        agent(['Are you in pain?', 'item:need/pain', 'stage:need']),
        customer('Not very much.', 'When can I come?'),
        agent(['I can offer you tomorrow at nine.', 'item:book/slot', 'stage:book']),
        customer(['I cannot wait that long for an appointment.', 'objection:wait']),
        agent('Then please come at once.', 'Who is speaking, please? What is your name?'),
        customer(['Peter Brown.', 'field:patient=Peter Brown']),
        agent(['Who is your insurance with?', 'item:book/insurance', 'stage:end']),
        customer('I have to look that up.'),
        agent(['Just to confirm, you come here now.', 'item:end/summary'], 'We never say that you must wait.'),
      ],
    },
    {
      name: 'held reschedule',
      profile: 'clinic',
      turns: [
        agent(['Bright Dental, thanks for your call.', 'item:greet/clinic'], 'My name is Carol.'),
        customer('Hi Carol.', [
          "I'm Daniel Cohen, I have a cleaning on Friday.",
          'field:patient=Daniel Cohen',
          'field:treatment=cleaning',
        ]),
        agent(
          ['Were you ever with us before, or are you a new patient?', 'item:greet/seen_before', 'stage:need'],
          'Could you tell me your date of birth?',
        ),
        customer(['The fourth of May nineteen ninety.', 'field:birthday=1990-05-04']),
        agent('And at what time of day would you like to come?'),
        customer(['At half past three in the afternoon.', 'field:hour=15:30']),
        agent(
          ['We do have an opening then.', 'item:book/slot', 'stage:book'],
          ['Are you insured? I mean, do you have a dental insurance?', 'item:book/insurance', 'stage:end'],
        ),
        customer(['No, I am not.', 'field:insured=false'], ["That's a lot of money without one.", 'objection:cost']),
        agent(['I have to tell you that there is a fee for any missed appointment.', 'disclosure:fee']),
        customer('Fair enough.'),
        agent(['So, let me just repeat that: Friday, half past three.', 'item:end/summary']),
      ],
    },
    {
      name: 'held member',
      profile: 'clinic',
      turns: [
        agent(
          ['Thank you for calling Bright Dental.', 'item:greet/clinic'],
          ['Please note that this call is being recorded.', 'disclosure:recording'],
        ),
        customer(['I got a letter about my root canal.', 'field:treatment=root canal'], 'It does not hurt any more.'),
        agent('What is your member number?'),
        customer(['It is B D four four one nine.', 'field:member=BD4419']),
        agent(['And since when have you had the problem?', 'item:need/since', 'stage:need']),
        customer("I'm not scared of dentists, just curious.", 'The root canal was in March.'),
        agent('You do not have to decide today.', [
          'Is it swollen? How bad is it on a scale from one to ten?',
          'item:need/pain',
          'stage:book',
        ]),
        customer('Maybe a two.', ['Get me your manager, this is the third letter.', 'alert:boss']),
        agent(["You'll have to decide, you must decide it today.", 'forbidden:1']),
        customer(['I have a swollen face since this morning.', 'alert:emergency']),
      ],
    },
    {
      name: 'held afraid',
      profile: 'clinic',
      turns: [
        agent([
          'Hello, this is Bright Dental, we are recording this call.',
          'item:greet/clinic',
          'disclosure:recording',
        ]),
        customer(["I'm afraid it's going to hurt very much.", 'objection:afraid']),
        agent(['Are you in any pain now?', 'item:need/pain', 'stage:need']),
        customer('A little.', ["Next month isn't soon enough for me.", 'objection:wait']),
        agent('Could I have your cell, your mobile number?'),
        customer(['Sure, (415) 555-0132.', 'field:mobile=+14155550132']),
        agent(['We can offer you Monday, we have openings all day.', 'item:book/slot', 'stage:book']),
        customer(["Honestly, I can't really afford it.", 'objection:cost']),
        agent('Nobody can promise that it is painless.'),
      ],
    },
    {
      name: 'held nisia',
      profile: 'travel',
      turns: [
        agent(['שלום, איך אפשר לעזור לך היום?', 'item:hello/offer'], ['לידיעתך, השיחה מוקלטת.', 'disclosure:recorded']),
        customer(['קוראים לי נועה לוי.', 'field:name=נועה לוי'], 'אני רוצה לעשות ביטוח.'),
        agent(['ומהו מספר הפוליסה שלך?', 'item:hello/ident', 'stage:trip']),
        customer('עוד אין לי פוליסה.'),
        agent(['לאיזו מדינה אתם טסים?', 'item:trip/where'], 'ומה תאריך היציאה?'),
        customer(['לתאילנד, ב-12 במאי.', 'field:leaves={year}-05-12']),
        agent(['האם יש לך מחלות רקע?', 'item:trip/illness', 'stage:close']),
        customer(
          ['לא. אני רוצה את הכיסוי המורחב.', 'field:cover=מורחב'],
          ['אבל זה יקר מדי בשבילי.', 'objection:price'],
        ),
        agent(['אנחנו מתחייבים להחזיר לך הכול.', 'forbidden:0'], ['נסיעה טובה ובטוחה!', 'item:close/bye']),
      ],
    },
    {
      name: 'held bitul',
      profile: 'travel',
      turns: [
        agent(['ערב טוב, במה אוכל לעזור?', 'item:hello/offer']),
        customer(['אני רוצה לבטל את הפוליסה שלי.', 'alert:cancel']),
        agent(['מה שמך המלא בבקשה?', 'item:hello/ident', 'stage:trip']),
        customer(['שמי יוסי כהן.', 'field:name=יוסי כהן'], ['האמת שאני בכלל לא צריך ביטוח.', 'objection:need']),
        agent('מה מספר הטלפון שלך?'),
        customer(['050-1234567.', 'field:phone=+972501234567']),
        agent('לא נבטל את הפוליסה בלי אישור.', ['אתה סובל ממחלה כלשהי?', 'item:trip/illness']),
        customer(['אני רוצה לדבר עם המנהל שלך.', 'alert:boss']),
      ],
    },
    {
      name: 'held ski',
      profile: 'travel',
      turns: [
        agent(['שלום וברכה, השיחה הזאת מוקלטת.', 'disclosure:recorded'], ['איך אוכל לעזור?', 'item:hello/offer']),
        customer('אנחנו יוצאים לסקי.', ['יש לי כבר ביטוח דרך כרטיס אשראי.', 'objection:need']),
        agent(['לאן אתם נוסעים?', 'item:trip/where', 'stage:trip']),
        customer(['לאוסטריה, וצריך ספורט אתגרי.', 'field:cover=ספורט אתגרי']),
        agent('מתי? מה התאריך?'),
        customer(['בשלושה בינואר.', 'field:leaves={year}-01-03'], ['אין לי כל כך תקציב לזה.', 'objection:price']),
        agent(['אז שתהיה נסיעה טובה ובטוחה.', 'item:close/bye', 'stage:close']),
      ],
    },
  ],
}
