import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { seeded } from '../answers/questions.ts'

const SEED = 14
/** Rows per thousand that are invalid, and that repeat an earlier number. */
const BAD = 10
const REPEATED = 20
/** Israeli mobile numbers that begin with +97253 are valid with any seven further digits. */
const NUMBERS = 10_000_000
/** Coprime to 10^7, so that each row has a different number. */
const STRIDE = 7_919_777
const NAMES = ['Ann Lee', 'שלום כהן', 'José "Pepe" Núñez', 'Müller, Jürgen', 'Zoë', "O'Brien", 'Two\nlines']
const BAD_PHONES = ['nobody', '', '12', '+999123', '050-12']

/** A CSV file on disk, and the expected result of its import into an empty list. */
export interface MadeFile {
  path: string
  rows: number
  bytes: number
  /** The expected numbers, in E.164. */
  numbers: Set<string>
  /** The expected errors in the report, by line. */
  errors: Map<number, 'invalid' | 'duplicate'>
  duplicates: number
  failed: number
}

const digitsOf = (row: number): string => String((row * STRIDE) % NUMBERS).padStart(7, '0')

const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Writes a file: numbers as people write them, names, invalid rows and repeated numbers; the same each time. */
export async function makeFile(path: string, rows: number): Promise<MadeFile> {
  const random = seeded(SEED)
  const numbers = new Set<string>()
  const errors = new Map<number, 'invalid' | 'duplicate'>()
  const good: number[] = []
  const out = createWriteStream(path)
  let line = 1
  let duplicates = 0
  out.write('Telephone,Full name\n')
  for (let row = 0; row < rows; row++) {
    const name = NAMES[random(NAMES.length)]!
    const dice = random(1000)
    const isBad = dice < BAD
    const isRepeated = !isBad && dice < BAD + REPEATED && good.length > 0
    const of = isRepeated ? good[random(good.length)]! : row
    const digits = digitsOf(of)
    const phone = isBad
      ? BAD_PHONES[random(BAD_PHONES.length)]!
      : random(2) === 0
        ? `+97253${digits}`
        : `053-${digits.slice(0, 3)} ${digits.slice(3)}`
    line += name.includes('\n') ? 2 : 1
    if (isBad) errors.set(line, 'invalid')
    else if (isRepeated) {
      errors.set(line, 'duplicate')
      duplicates++
    } else {
      good.push(row)
      numbers.add(`+97253${digits}`)
    }
    if (!out.write(`${phone},${quoted(name)}\n`)) await once(out, 'drain')
  }
  out.end()
  await finished(out)
  return { path, rows, bytes: out.bytesWritten, numbers, errors, duplicates, failed: errors.size - duplicates }
}
