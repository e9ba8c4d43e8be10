const UNITS =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const TENS = '_ _ twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
const ORDINALS = ['zeroth', 'first', 'second', 'third']

/** A text in lower case with its number words as digits: `forty nine euros` as `49 euros`, `one eight five` as `1 8 5`. */
export function numbersAsDigits(text: string): string {
  const result: string[] = []
  let open: { value: number; last: number } | null = null
  const close = (): void => {
    if (open !== null) result.push(String(open.value))
    open = null
  }
  for (const word of text.split(' ')) {
    const value = valueOf(word)
    if (value === null) {
      if (open !== null && (word === 'hundred' || word === 'thousand')) {
        const times = word === 'hundred' ? 100 : 1000
        open = { value: (open as { value: number }).value * times, last: times }
        continue
      }
      close()
      result.push(word)
    } else if (open !== null && (open as { last: number }).last > value && joins((open as { last: number }).last)) {
      open = { value: (open as { value: number }).value + value, last: value }
    } else {
      close()
      open = { value, last: value }
    }
  }
  close()
  return result.join(' ')
}

const joins = (last: number): boolean => last >= 100 || (last >= 20 && last % 10 === 0)

function valueOf(word: string): number | null {
  const unit = UNITS.indexOf(word)
  if (unit >= 0) return unit
  const ten = TENS.indexOf(word)
  if (ten >= 2) return ten * 10
  const ordinal = ORDINALS.indexOf(word)
  return ordinal > 0 ? ordinal : null
}
