import * as assert from 'uvu/assert'
import { compilePattern, compileSpoken } from '../../../control/kernel/pattern.ts'
import { redactionProblem } from '../../../control/organisation/redaction/settings.ts'
import { Random } from '../../fuzz/random.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/pattern')

const matches = (source: string, text: string): boolean => {
  const pattern = compileSpoken(source)
  if (typeof pattern === 'string') throw new Error(`${source}: ${pattern}`)
  return pattern.test(text)
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
    '\\b',
    'a{3,1}',
    '(?=a)',
    '\\1',
    '((()))'.repeat(60),
    '((a{999}){999}){999}',
  ]) {
    const pattern = compileSpoken(source)
    assert.ok(typeof pattern === 'string' || source.startsWith('((())'), source)
  }
  assert.type(compileSpoken('((((){999}){999}){999}){999}'), 'string')
})

test('a pattern whose program would take minutes with a long text is refused, wherever customers give one', () => {
  const slow = `${'(a?){1000}'.repeat(40)}b`
  assert.is(compilePattern(slow), 'the pattern is too large')
  assert.is(compileSpoken(slow), 'the pattern is too large')
  const redaction = (pattern: string, count: number) =>
    redactionProblem({ patterns: Array.from({ length: count }, () => ({ name: 'x', pattern })) })?.message
  assert.match(redaction(slow, 1) ?? '', 'too large')
  assert.is(redaction('a{900}', 2), undefined)
  assert.match(redaction('a{900}', 3) ?? '', 'together')
})

test('a letter of any script is a \\w, in a class too', () => {
  for (const [source, text] of [
    ['^\\w+$', 'שלום'],
    ['^[\\w-]+$', 'בית-ספר'],
    ['^[^\\W]+$', 'abc'],
    ['^\\W$', '-'],
  ] as const)
    assert.ok(matches(source, text), source)
  assert.not.ok(matches('\\W', 'é'))
})

test.run()
