const UNITS =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const TENS = '_ _ twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const MONEY: Readonly<Record<string, readonly [one: string, many: string, cents: string]>> = {
  '€': ['euro', 'euros', ''],
  $: ['dollar', 'dollars', ''],
  '£': ['pound', 'pounds', ''],
}
const MINUTES_IN_A_DAY = 24 * 60

/** A whole number in words, if it is below a million. */
function inWords(value: number): string {
  if (value < 20) return UNITS[value]!
  if (value < 100) return `${TENS[Math.floor(value / 10)]}${value % 10 === 0 ? '' : `-${UNITS[value % 10]}`}`
  if (value < 1000) return `${UNITS[Math.floor(value / 100)]} hundred${rest(value % 100)}`
  if (value < 1_000_000) return `${inWords(Math.floor(value / 1000))} thousand${rest(value % 1000)}`
  return String(value)
}

const rest = (value: number): string => (value === 0 ? '' : ` ${inWords(value)}`)

/** A time of day in words: `eight thirty in the morning`. `minutes`: since midnight. */
export function timeInWords(minutes: number, partOfDay = true): string {
  const time = minutes % MINUTES_IN_A_DAY
  if (time === 0) return 'midnight'
  if (time === 12 * 60) return 'noon'
  const [hour, minute] = [Math.floor(time / 60), time % 60]
  const clock = `${inWords(hour % 12 === 0 ? 12 : hour % 12)}${minute === 0 ? '' : ` ${minute < 10 ? 'oh ' : ''}${inWords(minute)}`}`
  if (!partOfDay) return clock
  return `${clock} ${hour < 12 ? 'in the morning' : hour < 18 ? 'in the afternoon' : hour < 22 ? 'in the evening' : 'at night'}`
}

/** Digits one by one, in the groups in which they are written, or of three. */
function digitByDigit(number: string): string {
  const groups = number
    .replace('+', ' plus ')
    .trim()
    .split(/[\s().-]+/)
    .filter(group => group !== '')
  return groups
    .map(group => (group === 'plus' ? group : [...group].map(digit => UNITS[Number(digit)]).join(' ')))
    .join(', ')
    .replace('plus, ', 'plus ')
}

function moneyInWords(sign: string, whole: string, cents: string | undefined): string {
  const [one, many] = MONEY[sign]!
  const value = Number(whole.replaceAll(',', ''))
  const coins = cents === undefined || Number(cents) === 0 ? '' : ` ${inWords(Number(cents))}`
  return `${inWords(value)} ${value === 1 ? one : many}${coins}`
}

/** Forms that a voice would spell, mispronounce or skip, and how people say them. The order matters. */
const SPOKEN: readonly (readonly [RegExp, (...found: string[]) => string])[] = [
  [/(?:\+|\b|\()\d[\d ()-]{6,}\d\b/g, found => digitByDigit(found)],
  [
    /\b([\w.+-]+)@([\w-]+(?:\.[\w-]+)+)/g,
    (_, name = '', host = '') => `${name.replaceAll('.', ' dot ')} at ${host.replaceAll('.', ' dot ')}`,
  ],
  [/\b(?:https?:\/\/)?((?:[a-z\d-]+\.)+[a-z]{2,})\b(?:\/\S*)?/g, (_, host = '') => host.replaceAll('.', ' dot ')],
  [/([€$£])\s?(\d+(?:,\d{3})*)(?:\.(\d\d))?/g, (_, sign = '', whole = '', cents) => moneyInWords(sign, whole, cents)],
  [
    /\b(\d+)\.(\d\d) (euros?|dollars?|pounds?)\b/g,
    (_, whole = '', cents = '', name = '') => `${inWords(Number(whole))} ${name} ${inWords(Number(cents))}`,
  ],
  [/(\d|[ap]m)\s?[-–—]\s?(?=[€$£]?\d)/gi, (_, before = '') => `${before} to `],
  [
    /\b(\d{1,2})[:.](\d\d)\s?([aApP])\.?[mM]\b(?:\.(?=\s[a-z]))?/g,
    (_, hour = '', minute = '', half = '') => clockInWords(hour, minute, half),
  ],
  [/\b(\d{1,2})\s?([aApP])\.?[mM]\b(?:\.(?=\s[a-z]))?/g, (_, hour = '', half = '') => clockInWords(hour, '00', half)],
  [/\b([01]?\d|2[0-4]):([0-5]\d)\b/g, (_, hour = '', minute = '') => clockInWords(hour, minute, null)],
  [/(?<=\w)\s+[-–—]\s+(?=\w)/g, () => ' to '],
  [/\b(\d+)\s?%/g, (_, value = '') => `${value} percent`],
  [
    /\b(\d+)\.(\d+)\b/g,
    (_, whole = '', part = '') =>
      `${inWords(Number(whole))} point ${[...part].map(digit => UNITS[Number(digit)]).join(' ')}`,
  ],
  [/\b(1[89]\d\d|20[2-9]\d)\b/g, (_, year = '') => yearInWords(Number(year))],
  [/\b\d{1,3}(,\d{3})+\b/g, found => found.replaceAll(',', '')],
  [/\b\d{1,6}\b(?!\w)/g, found => inWords(Number(found))],
  [/\s*&\s*/g, () => ' and '],
  [/[#*_`|]/g, () => ' '],
]

function clockInWords(hourText: string, minuteText: string, half: string | null): string {
  const [hour, minute] = [Number(hourText), Number(minuteText)]
  if (half === null) return timeInWords(hour * 60 + minute, hour > 12)
  const isNoonOrMidnight = hour === 12 && minute === 0
  if (isNoonOrMidnight) return half.toLowerCase() === 'a' ? 'midnight' : 'noon'
  return `${timeInWords(hour * 60 + minute, false)} ${half.toLowerCase()} m`
}

const yearInWords = (year: number): string =>
  year % 100 === 0
    ? inWords(year)
    : `${inWords(Math.floor(year / 100))} ${year % 100 < 10 ? 'oh ' : ''}${inWords(year % 100)}`

/** A text as one would read it out: numbers, prices, times, telephone numbers and addresses in words. */
export const speakable = (text: string): string =>
  SPOKEN.reduce((said, [pattern, words]) => said.replace(pattern, words), text)
    .replace(/ {2,}/g, ' ')
    .trim()
