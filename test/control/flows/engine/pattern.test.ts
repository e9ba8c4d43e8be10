import * as assert from 'uvu/assert'
import { compilePattern } from '../../../../control/flows/engine/pattern.ts'
import { Random } from '../../../fuzz/random.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/flows/engine/pattern')

const matches = (source: string, text: string): boolean => {
  const pattern = compilePattern(source)
  if (typeof pattern === 'string') throw new Error(`${source}: ${pattern}`)
  return pattern.matches(text)
}

test('patterns match as RegExp does', () => {
  const random = new Random(7)
  const pick = (from: string[]): string => from[Math.floor(random.next() * from.length)]!
  const make = (depth: number): string => {
    if (depth === 0) return pick(['a', 'b', 'C', '.', '[ab]', '[^a]', '\\d', '\\D', '\\w', '[A-C]', '^', '$', '\\.'])
    const part = (): string => make(depth - 1)
    return pick([
      `${part()}${part()}`,
      `(${part()}|${part()})`,
      `(?:${part()})*`,
      `(${part()})+`,
      `(${part()}){1,2}`,
      `(${part()})?`,
    ])
  }
  for (let n = 0; n < 3000; n++) {
    const source = make(1 + Math.floor(random.next() * 3))
    const text = Array.from({ length: Math.floor(random.next() * 6) }, () => pick(['a', 'B', 'c', '1', '.'])).join('')
    assert.is(matches(source, text), new RegExp(source, 'i').test(text), `${source} on ${text}`)
  }
})

test('a pattern that would hold a backtracking engine for ever is linear', () => {
  assert.is(matches('^(a+)+$', `${'a'.repeat(2000)}!`), false)
  assert.is(matches('^((a|a)*)*$', `${'a'.repeat(500)}!`), false)
})

test('what cannot be used is said in words, and never thrown', () => {
  for (const source of [
    '(',
    ')',
    '[a',
    'a**',
    '*',
    '\\',
    'a{2',
    'a{3,1}',
    '(?=a)',
    '\\1',
    '((()))'.repeat(60),
    '((a{999}){999}){999}',
  ]) {
    const pattern = compilePattern(source)
    assert.ok(typeof pattern === 'string' || source.startsWith('((())'), source)
  }
  assert.type(compilePattern('((((){999}){999}){999}){999}'), 'object')
})

test.run()
