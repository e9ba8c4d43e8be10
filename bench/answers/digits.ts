const UNITS =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const TENS = '_ _ twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const ORDINALS = ['zeroth', 'first', 'second', 'third']

/** A text in lower case with its number words as digits: `forty nine euros` as `49 euros`, `one eight five` as `1 8 5`. */
export function numbersAsDigits(text: string): string {
  const result: (string | number)[] = []
  let last = 0
  for (const word of text.split(' ')) {
    const before = result.at(-1)
    const times = word === 'hundred' ? 100 : word === 'thousand' ? 1000 : 0
    const value = numberOf(word)
    if (typeof before === 'number' && times > 0) result.splice(-1, 1, before * times)
    else if (typeof before === 'number' && value !== null && value < last && joins(last))
      result.splice(-1, 1, before + value)
    else result.push(value ?? word)
    last = times > 0 ? times : (value ?? 0)
  }
  return result.join(' ')
}

const joins = (last: number): boolean => last >= 100 || (last >= 20 && last % 10 === 0)

function numberOf(word: string): number | null {
  const small = UNITS.indexOf(word)
  if (small >= 0) return small
  const ten = TENS.indexOf(word)
  if (ten >= 2) return ten * 10
  const ordinal = ORDINALS.indexOf(word)
  return ordinal > 0 ? ordinal : null
}
