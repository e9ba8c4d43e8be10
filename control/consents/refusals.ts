import { LANGUAGE_CODES, type LanguageCode } from '../kernel/languages.ts'

/** Endings that do not change the meaning of such a sentence. */
const POLITE: Readonly<Record<LanguageCode, string>> = {
  en: 'please|thank you|thanks|ok|okay|sir|madam|all right|alright|understood|got it|you hear me',
  he: 'בבקשה|תודה|טוב|בסדר|אוקיי',
  es: 'por favor|gracias|vale|entendido',
  fr: 's il vous plait|sil vous plait|merci|d accord|daccord|svp',
  de: 'bitte|danke|ok|okay|verstanden',
  pt: 'por favor|obrigado|obrigada|esta bem|ok',
  it: 'per favore|per cortesia|grazie|va bene|ok',
}

type Asked = Readonly<Record<LanguageCode, readonly string[]>>

/**
 * Requests not to be called again, in folded words with a bar at the end of a clause. `$` means that the clause ends there, apart from polite words: with an hour, a
 * place or a condition after it, the sentence means something else.
 */
const NO_CALLS: Asked = {
  en: [
    '(?<!\\b(?:you|they|he|she|it|we|who|why|people|did|does|did i|do i) )(?:do not|dont|never|not) (?:you )?(?:ever )?(?:call|phone|ring|contact|telephone|bother)(?: up)? (?:me|us|this number|here|my number|my house|my phone|my home|my family)(?: back)?(?: up)?(?: (?:again|any ?more|ever again|ever|on this number|at this number|at this address))*$',
    '(?:told|asked|want|need|asking|telling) you (?:all )?(?:never |not )to (?:call|phone|ring|contact|telephone|bother) (?:me|us|this number|here)(?: (?:again|any ?more|ever|ever again))*$',
    '(?<!\\b(?:you|they|he|she|we|did|not|dont|never|do not|why) )(?:stop|quit|cease) (?:calling|phoning|ringing|contacting|bothering|telephoning) (?:me|us|this number|here|my number|my house|my home|my family)(?: (?:again|any ?more|at this number|on this number))*$',
    '(?:take|remove|delete|strike|cross|get|have) (?:me|us|my number|my phone number|this number|my name|our number)(?: \\w+){0,2}? (?:off|from|out of) (?:\\w+ ){0,3}(?:list|lists|database|records|system)$',
    '(?:put|add|place|get) (?:me|us|my number|my phone number|this number) (?:on|to|onto|in|into) (?:\\w+ ){0,3}do not call(?: \\w+){0,2}$',
    '(?<!\\b(?:were|was|are|had|have|got|get|is) )no more (?:of these |of your |of those )?(?:phone )?calls(?: from you| to me| to this number)?$',
    '(?:i|we) (?:really )?(?:do not|dont|no longer) (?:want|wish|like)(?: you| them)? (?:to (?:be called|get called|be contacted|be phoned|call me|call us|phone me|ring me|contact me|contact us)|any (?:more )?(?:phone |of these |of your )?calls|any more calls|(?:these|your|more|further) (?:phone )?calls|to (?:get|receive|have) (?:any |these |your |more |further )*(?:phone )?calls)(?: (?:again|any ?more|ever|ever again|from you|on this number|at this number))*$',
    '(?:lose|forget|erase) (?:my|this) (?:phone )?number$',
  ],
  he: [
    '(?:אל|לא) (?:תתקשר|תתקשרי|תתקשרו|תצלצל|תצלצלי|תצלצלו|תחזרו|תחזור|להתקשר)(?: (?:אלי|אליי|אלינו|לכאנ|לפה|למספר הזה|הנה))?(?: (?:יותר|שוב|לעולמ|אפ פעמ))+$',
    '(?<!למה )(?:אל|נא לא) (?:תתקשר|תתקשרי|תתקשרו|להתקשר) (?:אלי|אליי|אלינו|לכאנ|למספר הזה)$',
    '(?:תפסיק|תפסיקי|תפסיקו|הפסיקו|להפסיק|די) להתקשר(?: (?:אלי|אליי|אלינו|לכאנ|למספר הזה))?$',
    '(?:תוריד|תורידי|תורידו|להוריד|הסר|הסירו|תסיר|תסירי|תסירו|להסיר|תמחק|תמחקי|תמחקו|למחוק) (?:אותי|אותנו|את המספר(?: שלי| שלנו| הזה)?|את השמ שלי) (?:מ\\S*רשימ\\S*|מהמאגר|מהמערכת)(?: \\S+)?$',
    '(?:אני |אנחנו )?לא (?:רוצה|רוצימ|מעוניינ|מעוניינת|מעוניינימ) (?:יותר )?ש(?:תתקשר|תתקשרי|תתקשרו|יתקשרו)(?: (?:אלי|אליי|אלינו))?(?: (?:יותר|שוב))*$',
    '(?:אני )?לא (?:רוצה|רוצימ) (?:לקבל )?(?:יותר )?שיחות(?: (?:כאלה|ממכמ|מכמ|יותר))*$',
  ],
  es: [
    'no (?:me|nos) (?:llame|llames|llamen|llameis|telefonee|telefoneen|vuelva a llamar|vuelvas a llamar|vuelvan a llamar|contacte|contacten)(?: (?:mas|nunca mas|otra vez|de nuevo|jamas|nunca|a este numero))*$',
    'no (?:vuelva|vuelvas|vuelvan) a (?:llamarme|llamarnos|llamar)(?: (?:mas|nunca|nunca mas|aqui|a este numero))*$',
    '(?:deje|dejen|deja|paren|pare) de (?:llamarme|llamarnos|llamar|molestarme)(?: (?:a este numero|aqui))?$',
    '(?:quite|quiten|quiteme|quitenme|borre|borren|borreme|borrenme|saque|saquen|saqueme|saquenme|elimine|eliminen|eliminenme)(?: \\w+){0,3} (?:de|en) (?:\\w+ )?(?:lista|listas|base de datos)(?: \\w+){0,2}$',
    '(?:ya )?no quiero (?:que me (?:llame|llamen|llames)|recibir|que me vuelvan a llamar)(?: (?:mas|nunca|ninguna|llamadas|otras|nunca mas|de ustedes))*$',
    'no quiero mas llamadas(?: (?:suyas|de ustedes))?$',
  ],
  fr: [
    '(?<!vous |ils |elle |il )ne (?:me|nous) (?:rappelez|rappelle|rappeler|appelez|appelle|appeler|telephonez|telephoner|contactez|contacter) (?:plus|jamais|pas)(?: (?:jamais|sur ce numero|a ce numero|ici))*$',
    '(?:arretez|arrete|cessez|cesse) de (?:m |me |nous )?(?:mappeler|appeler|rappeler|telephoner|contacter|harceler)(?: (?:ici|a ce numero|sur ce numero))?$',
    '(?:retirez|enlevez|supprimez|otez|rayez|effacez|retire|enleve)(?: moi| nous| mon numero| mon nom| notre numero)(?: \\w+){0,2} (?:de|des) (?:\\w+ ){0,2}(?:liste|listes|fichier|fichiers|base)(?: \\w+){0,2}$',
    '(?:je|nous|on) (?:ne )?(?:veux|voulons|veut|souhaite|souhaitons) plus (?:etre (?:appele|appelee|appeles|contacte|contactee|derange|derangee)|recevoir (?:de |vos |d )*appels|(?:de |vos |d )+appels|que vous (?:m |me |nous )?(?:mappeliez|appeliez|rappeliez|contactiez))(?: \\w+)?$',
  ],
  de: [
    '(?:rufen|ruft|ruf)(?: sie| ihr| du)?(?: bitte)? (?:mich|uns|hier|diese nummer|unter dieser nummer)(?: bitte)? (?:nicht mehr|nie mehr|niemals mehr|niemals wieder|nicht wieder|nicht noch einmal|nicht nochmal|nie wieder|bitte nicht mehr)(?: an)?$',
    '(?:rufen|ruft)(?: sie)?(?: bitte)? (?:nie wieder|nie mehr|nicht mehr|nicht wieder)(?: hier| bei mir| bei uns)?(?: an)$',
    '(?:horen|hort|hor)(?: sie)?(?: bitte)?(?: endlich)? auf(?: damit)?(?: \\|)? (?:mich |uns |hier |staendig |standig |dauernd )*anzurufen$',
    '(?:streichen|nehmen|loschen|entfernen|tragen)(?: sie)?(?: bitte)? (?:mich|uns|meine nummer|meine telefonnummer|unsere nummer|meinen namen|diese nummer)(?: bitte)? (?:von|aus) (?:\\w+ ){0,3}(?:liste|listen|kartei|datenbank|verteiler|anrufliste|telefonliste|system)(?: \\w+)?$',
    '(?:ich|wir) (?:will|wollen|mochte|mochten|wunsche|wunschen) (?:nicht mehr|nie mehr|nie wieder)(?: von ihnen)? (?:angerufen werden|kontaktiert werden|dass sie (?:mich |uns |hier )?anrufen)$',
    '(?:ich|wir) (?:will|wollen|mochte|mochten|wunsche|wunschen) keine (?:weiteren )?(?:anrufe|telefonanrufe)(?: mehr)?(?: von ihnen)?$',
    'keine (?:weiteren )?anrufe mehr$',
  ],
  pt: [
    'nao (?:me|nos) (?:ligue|liguem|ligues|telefone|telefonem|contacte|contactem|contate|contatem|volte a ligar|voltem a ligar)(?: (?:mais|nunca mais|de novo|outra vez|para este numero))*$',
    'nao (?:ligue|liguem|volte a ligar|voltem a ligar|telefone|telefonem)(?: (?:mais|nunca mais|para mim|para ca|para este numero|outra vez))+$',
    '(?:pare|parem|deixe|deixem) de (?:me |nos )?(?:ligar|telefonar|chamar|contactar|incomodar)(?: (?:para mim|para ca|para este numero))?$',
    '(?:tire|tirem|retire|retirem|remova|removam|apague|apaguem)(?: \\w+){0,3} (?:da|de|das) (?:\\w+ ){0,2}(?:lista|listas|base de dados)(?: \\w+){0,2}$',
    'nao quero (?:mais )?(?:receber )?(?:mais )?(?:ligacoes|chamadas|telefonemas|que me liguem|que liguem|que me telefonem)(?: (?:mais|vossas|de voces))*$',
  ],
  it: [
    '(?:non|mai) (?:mi|ci) (?:chiami|chiamate|chiamare|telefoni|telefonate|richiami|richiamate|contatti|contattate|disturbi|disturbate)(?: (?:piu|mai piu|di nuovo|ancora|mai|a questo numero))+$',
    'non (?:chiamatemi|chiamateci|chiamarmi|chiamarci|telefonatemi|telefonarmi|richiamatemi|contattatemi)(?: (?:piu|mai piu|di nuovo|a questo numero))*$',
    '(?:smetta|smettete|smettetela|smettila|la smetta|basta|finitela)(?: di)? (?:chiamarmi|chiamarci|chiamare|telefonarmi|telefonare|disturbarmi)(?: \\w+)?$',
    '(?:toglietemi|tolga|togliete|togliermi|cancellatemi|cancelli|cancellate|rimuovetemi|rimuova|rimuovete|mi tolga)(?: \\w+){0,3} (?:dalla|dalle|dall|da|dai) (?:\\w+ ?){0,2}(?:lista|liste|elenco|elenchi|archivio)(?: \\w+){0,2}$',
    'non voglio (?:piu )?(?:ricevere )?(?:altre |piu |le vostre )?(?:chiamate|telefonate|essere chiamato|essere chiamata|essere contattato|essere contattata|che mi chiami|che mi chiamiate)(?: (?:da voi|piu))*$',
  ],
}

/** As `NO_CALLS`, for requests not to be recorded. */
const NO_RECORDING: Asked = {
  en: [
    '(?<!\\b(?:you|they|he|she|it|we|i|who|why|did|does|people) )(?:do not|dont|never) record (?:me|us|this|(?:this|the|my|our) (?:phone )?(?:call|conversation)|my voice)(?: any ?more)?$',
    '(?<!(?<!\\b(?:can|could|would) )\\byou )(?<!\\b(?:they|he|she|we|i|did|not|dont|never|cannot|cant|will|why) )(?:stop|quit|cease) (?:recording|taping)(?: (?:me|us|this|it|(?:this|the|my|our) (?:phone )?(?:call|conversation)))?(?: (?:now|right now|immediately))?$',
    '(?<!\\b(?:you|they|we|i|not|dont|never|did) )(?:turn|switch) (?:off (?:the|your|this) recording|(?:the|your|this) recording off)(?: now)?$',
    '(?:i|we) (?:do not|dont) (?:want|wish|like|consent|agree) (?:you )?(?:to (?:be|being|get) recorded|to (?:the|this|any|a) recording|to record (?:me|us|this|(?:this|the|my|our) (?:call|conversation)))$',
    '(?:i|we) (?:do not|dont) (?:want|like) (?:this|it|my voice|(?:this|the|my|our) (?:phone )?(?:call|conversation)) (?:to be |being )?recorded$',
    '(?:i|we) (?:would rather|prefer|would prefer) not (?:to )?be recorded$',
    '(?:i|we) (?:revoke|withdraw|take back) (?:my|our) (?:consent|agreement)(?: to (?:(?:be|being) recorded|(?:the|this) recording))?$',
  ],
  he: [
    '(?:אל|נא לא) (?:תקליט|תקליטי|תקליטו|להקליט)(?: (?:אותי|אותנו|את זה|את השיחה(?: הזאת| הזו)?))?$',
    '(?:תפסיק|תפסיקי|תפסיקו|הפסיקו|להפסיק|די) להקליט(?: (?:אותי|אותנו|את זה|את השיחה(?: הזאת| הזו)?))?$',
    'לא (?:רוצה|רוצימ|מסכימ|מסכימה|מסכימימ|מעוניינ|מעוניינת) (?:ש(?:תקליט|תקליטי|תקליטו|יקליטו)(?: (?:אותי|אותנו|את זה|את השיחה))?|להיות (?:מוקלט|מוקלטת)|להקלטה|שהשיחה תוקלט)$',
  ],
  es: [
    'no (?:me|nos) (?:grabe|graben|grabes)(?: mas)?$',
    '(?<!ellos |ustedes |usted )no (?:grabe|graben|grabes) (?:esto|(?:esta|la) (?:llamada|conversacion)|mi voz)$',
    '(?<!no )(?:deje|dejen|deja|pare|paren) de (?:grabar|grabarme|grabarnos)(?: (?:esto|(?:esta|la) (?:llamada|conversacion)))?$',
    'no quiero (?:que (?:me|nos) (?:grabe|graben|grabes)|que (?:grabe|graben|grabes|se grabe) (?:esta|la) (?:llamada|conversacion)|ser grabado|ser grabada)(?: mas)?$',
    'no (?:acepto|autorizo|consiento) (?:la grabacion|que (?:me|nos) graben|ser grabado|ser grabada)$',
  ],
  fr: [
    '(?<!vous |ils |elle |il )ne (?:m |me |nous )(?:enregistrez|enregistre|enregistrer) (?:pas|plus)$',
    '(?<!vous |ils |elle |il )n enregistrez (?:pas|plus) (?:cela|ca|l appel|cet appel|la conversation|cette conversation)$',
    '(?<!pas )(?:arretez|arrete|cessez|cesse) (?:de (?:m |nous )enregistrer|d enregistrer|l enregistrement)(?: (?:l appel|cet appel|la conversation|cette conversation))?$',
    '(?:je|nous|on) (?:ne )?(?:veux|voulons|veut|souhaite|souhaitons) (?:pas|plus) (?:etre (?:enregistre|enregistree|enregistres)|que vous (?:m |nous )?enregistriez(?: (?:l appel|cet appel|la conversation))?|que (?:l appel|cet appel) soit enregistre)$',
    'je (?:n accepte|ne consens|refuse) (?:pas )?(?:(?:a )?l enregistrement|d etre enregistre|d etre enregistree)$',
  ],
  de: [
    '(?:nehmen|nehmt|nimm|zeichnen|zeichnet|schneiden)(?: sie| ihr)?(?: bitte)? (?:mich|uns|das|dies|(?:das|dieses|unser) gesprach|(?:den|diesen) anruf)(?: bitte)? nicht(?: mehr| weiter)? (?:auf|mit)$',
    '(?:horen|hort|hor)(?: sie)?(?: bitte)?(?: sofort)? auf(?: \\|)? (?:mich |uns |das gesprach |dieses gesprach |den anruf |das )*(?:aufzunehmen|aufzuzeichnen|mitzuschneiden)$',
    '(?:ich|wir) (?:will|wollen|mochte|mochten) nicht (?:mehr )?(?:aufgenommen|aufgezeichnet|mitgeschnitten) werden$',
    '(?:ich|wir) (?:will|wollen|mochte|mochten) nicht(?: mehr)?(?: \\|)? dass (?:sie |ihr )?(?:mich |uns |das gesprach |dieses gesprach |der anruf |das )*(?:aufnehmen|aufzeichnen|mitschneiden|aufnehmt|aufgenommen wird|aufgezeichnet wird)$',
    '(?:schalten|stellen)(?: sie)?(?: bitte)? die (?:aufnahme|aufzeichnung)(?: bitte)? (?:aus|ab)$',
    '(?:stoppen|beenden)(?: sie)?(?: bitte)? die (?:aufnahme|aufzeichnung)$',
  ],
  pt: [
    'nao (?:me|nos) (?:grave|gravem|graves)(?: mais)?$',
    '(?<!eles |voces )nao (?:grave|gravem|graves) (?:isto|isso|(?:esta|a) (?:chamada|ligacao|conversa))$',
    '(?<!nao )(?:pare|parem|deixe|deixem) de (?:me |nos )?gravar(?: (?:isto|isso|(?:esta|a) (?:chamada|ligacao|conversa)))?$',
    'nao quero (?:que (?:me|nos) (?:grave|gravem)|que (?:grave|gravem) (?:esta|a) (?:chamada|ligacao|conversa)|ser gravado|ser gravada)(?: mais)?$',
    'nao (?:aceito|autorizo|concordo com) (?:a gravacao|ser gravado|ser gravada|que me gravem)$',
  ],
  it: [
    'non (?:mi|ci) (?:registri|registrate|registrare)(?: piu)?$',
    'non (?:registri|registrate|registrare) (?:questo|(?:questa|la) (?:chiamata|telefonata|conversazione))$',
    '(?<!non )(?:smetta|smettete|smettetela|smettila|la smetta|basta|finitela)(?: di)? (?:registrare|registrarmi|registrarci)(?: (?:questa|la) (?:chiamata|telefonata|conversazione))?$',
    'non voglio (?:essere registrato|essere registrata|che (?:mi|ci) (?:registri|registriate)|che (?:questa|la) (?:chiamata|telefonata) (?:sia|venga) registrata)$',
    'non (?:acconsento|autorizzo|accetto) (?:alla registrazione|la registrazione|di essere registrato|di essere registrata)$',
  ],
}

/** Negated requests and reports about others are not the speaker's wish. */
const UNSAID: Partial<Record<LanguageCode, RegExp>> = {
  en: /\b(?:do not|dont|never|without|not asking you to|rather you didnt|please do not|why would (?:you|i)|if (?:you|i|we)|unless (?:you|i|we)) (?:\w+ ){0,4}?(?=(?:take|remove|delete|put|add|get|have|stop) )/,
}

const END = (code: LanguageCode): string => `(?: (?:${POLITE[code]}))*(?= ?(?:\\||$))`

type Patterns = Readonly<Record<LanguageCode, readonly RegExp[]>>

const patternsOf = (asked: Asked): Patterns =>
  Object.fromEntries(
    LANGUAGE_CODES.map(code => [
      code,
      asked[code].map(one => new RegExp(`(?<![\\p{L}\\p{N}])${one.replace(/\$$/, END(code))}`, 'u')),
    ]),
  ) as unknown as Patterns

const [CALLS, RECORDING] = [patternsOf(NO_CALLS), patternsOf(NO_RECORDING)]

const FINALS: Readonly<Record<string, string>> = { ך: 'כ', ם: 'מ', ן: 'נ', ף: 'פ', ץ: 'צ' }

/** Words without case, accents and apostrophes; a bar where a clause ends. */
const folded = (text: string, code: LanguageCode): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’׳]/g, code === 'en' || code === 'he' ? '' : ' ')
    .replace(/[ךםןףץ]/g, letter => FINALS[letter] ?? letter)
    .replace(/[.,;:!?…\n]+/g, ' | ')
    .replace(/[^\p{L}\p{N}|]+/gu, ' ')
    .trim()

/** Whether these words, in one of our languages, ask not to be called again. A request with a limit, such as "before five" or "at work", does not count. */
export const asksNotToBeCalled = (text: string): boolean => asks(CALLS, text)

/** Whether these words refuse recording, in this call or in general. */
export const asksNotToBeRecorded = (text: string): boolean => asks(RECORDING, text)

const asks = (patterns: Patterns, text: string): boolean =>
  LANGUAGE_CODES.some(code => asksIn(patterns[code], code, folded(text, code)))

function asksIn(patterns: readonly RegExp[], code: LanguageCode, said: string): boolean {
  return patterns.some(pattern => {
    const found = pattern.exec(said)
    if (found === null) return false
    const clause = said.slice(said.lastIndexOf('|', found.index) + 1, found.index + found[0].length)
    return UNSAID[code]?.test(clause) !== true
  })
}
