import { buffer } from 'node:stream/consumers'
import { inflateSync } from 'node:zlib'
import * as assert from 'uvu/assert'
import { PdfTable } from '../../../control/reports/pdf.ts'
import { suite } from '../../harness.ts'

const test = suite('control/reports/pdf')

const PERIOD = { from: '2026-11-01T00:00:00.000Z', to: '2026-12-01T00:00:00.000Z' }

/** What is of all reports: columns, the period, the number of rows. */
const COMMON = /^(agent|calls|2026-11-01T.*|\d+ rows)$/

/** What else the page shows, run by run, each from left to right. */
async function shown(title: string, ...names: string[]): Promise<string[]> {
  const table = new PdfTable(title, PERIOD, ['agent', 'calls'])
  for (const name of names) table.write([name])
  table.end()
  const file = (await buffer(table.stream)).toString('latin1')
  const parts = [...file.matchAll(/stream\n(.*?)\nendstream/gs)].map(([, packed]) => inflated(packed!)).join('\n')
  const letters = (/beginbfrange\n<0000> <[0-9a-f]+> \[(.*?)\]/.exec(parts)?.[1] ?? '')
    .split('> <')
    .map(units => String.fromCharCode(...(units.match(/[0-9a-f]{4}/g) ?? []).map(unit => Number.parseInt(unit, 16))))
  const composite = [...file.matchAll(/(\d+) 0 obj\n<<\n[^>]*?\/Subtype \/Type0/g)].map(([, id]) => id)
  const fonts = new Map([...file.matchAll(/\/(F\d+) (\d+) 0 R/g)].map(([, name, id]) => [name, id]))
  const runs = [...parts.matchAll(/\/(F\d+) [\d.]+ Tf\n\[(.*?)\] TJ/g)].map(([, font, said]) => {
    const codes = [...said!.matchAll(/<([0-9a-f]*)>/g)].map(([, hex]) => hex).join('')
    // The fonts that every reader has have a byte for each letter.
    if (!composite.includes(fonts.get(font))) return Buffer.from(codes, 'hex').toString('latin1').replace('\x85', '…')
    return (codes.match(/.{4}/g) ?? []).map(code => letters[Number.parseInt(code, 16)]).join('')
  })
  return runs.filter(run => !COMMON.test(run))
}

function inflated(packed: string): string {
  try {
    return inflateSync(Buffer.from(packed, 'latin1')).toString('latin1')
  } catch {
    return ''
  }
}

test('names of any alphabet are shown as they are; what the font does not have is a box', async () => {
  const names = ['Müller-Lüdenscheidt', 'Ольга', 'Łódź', 'Ελένη', '=cmd|x', '<b>&amp;', '王x']
  assert.equal(await shown('Звонки', ...names), ['Звонки', ...names.slice(0, -1), '\0x'])
})

test('words from the right are in their order, and turn around no number beside them', async () => {
  // From left to right as on the page: the last letter of the last word first.
  assert.equal(await shown('ישראל כהן 12', 'محمد'), ['ןהכ לארשי', ' 12', 'دمحم'])
})

test('a name is one line of its column: no line end, no order to turn around, an ellipsis where it does not fit', async () => {
  assert.equal(await shown('a\nb', 'c\td', 'e\u202ef'), ['a b', 'c d', 'e f'])
  const [, left, right] = await shown('Long', 'x'.repeat(2000), 'ש'.repeat(2000))
  assert.match(left!, /^x{40,200}…$/)
  assert.match(right!, /^ש{40,100}$/)
})

test.run()
