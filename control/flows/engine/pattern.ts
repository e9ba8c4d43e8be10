/**
 * Regular expressions of customers, matched in time linear in the text (Thompson's construction): a backtracking engine could
 * be held for ever by a pattern such as `(a+)+$`. Case does not matter. Knows literals, `.`, classes, `\d \w \s` and their
 * opposites, `^ $`, groups, `|`, `* + ? {n,m}`; no back references, no look-around.
 */

type Test = (char: string) => boolean

type Tree =
  | { type: 'test'; test: Test }
  | { type: 'start' }
  | { type: 'end' }
  | { type: 'sequence'; parts: Tree[] }
  | { type: 'choice'; parts: Tree[] }
  | { type: 'repeat'; part: Tree; min: number; max: number }

type Instruction =
  | { op: 'test'; test: Test }
  | { op: 'split'; a: number; b: number }
  | { op: 'start' | 'end' | 'match' }

const MAX_INSTRUCTIONS = 2000
const MAX_DEPTH = 50

class BadPattern extends Error {}

export interface Pattern {
  /** Whether the pattern occurs in the text. */
  matches(text: string): boolean
}

/** Compiles a pattern, or says in words what is wrong with it. */
export function compilePattern(source: string): Pattern | string {
  try {
    const program: Instruction[] = []
    emit(new Parser(source).parse(), program)
    program.push({ op: 'match' })
    return { matches: text => run(program, [...text.toLowerCase()]) }
  } catch (error) {
    if (error instanceof BadPattern) return error.message
    throw error
  }
}

const ESCAPES: Record<string, Test> = {
  d: char => /\d/.test(char),
  w: char => /[\p{L}\p{N}_]/u.test(char),
  s: char => /\s/.test(char),
}
const LITERAL_ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r' }

/** The text is in lower case; the pattern's characters may be in either. */
const within =
  (from: string, to: string): Test =>
  char =>
    (char >= from && char <= to) || (char.toUpperCase() >= from && char.toUpperCase() <= to)

class Parser {
  readonly #chars: string[]
  #at = 0
  #depth = 0

  constructor(source: string) {
    this.#chars = [...source]
  }

  parse(): Tree {
    const tree = this.#choice()
    if (this.#at < this.#chars.length) throw new BadPattern('a ) without its (')
    return tree
  }

  #choice(): Tree {
    if (++this.#depth > MAX_DEPTH) throw new BadPattern('groups are nested too deeply')
    const parts = [this.#sequence()]
    while (this.#take('|')) parts.push(this.#sequence())
    this.#depth--
    return parts.length === 1 ? parts[0]! : { type: 'choice', parts }
  }

  #sequence(): Tree {
    const parts: Tree[] = []
    while (this.#at < this.#chars.length && this.#peek() !== '|' && this.#peek() !== ')') parts.push(this.#repeated())
    return { type: 'sequence', parts }
  }

  #repeated(): Tree {
    const part = this.#atom()
    const range = this.#quantifier()
    if (range === null) return part
    this.#take('?')
    if (this.#quantifier() !== null) throw new BadPattern('two quantifiers in a row')
    return { type: 'repeat', part, ...range }
  }

  #quantifier(): { min: number; max: number } | null {
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY }
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY }
    if (this.#take('?')) return { min: 0, max: 1 }
    if (this.#peek() !== '{') return null
    const [whole, low, comma, high] =
      /^\{(\d{1,3})(,?)(\d{0,3})\}/.exec(this.#chars.slice(this.#at, this.#at + 9).join('')) ?? []
    if (whole === undefined) throw new BadPattern('a { that is not {n}, {n,} or {n,m}')
    this.#at += whole.length
    const min = Number(low)
    const max = comma === '' ? min : high === '' ? Number.POSITIVE_INFINITY : Number(high)
    if (max < min) throw new BadPattern('a quantifier whose end is before its beginning')
    return { min, max }
  }

  #atom(): Tree {
    const char = this.#next()
    if (char === '(') {
      if (this.#take('?') && !this.#take(':')) throw new BadPattern('look-around and named groups are not supported')
      const inner = this.#choice()
      if (!this.#take(')')) throw new BadPattern('a ( without its )')
      return inner
    }
    if (char === '[') return { type: 'test', test: this.#class() }
    if (char === '.') return { type: 'test', test: () => true }
    if (char === '^') return { type: 'start' }
    if (char === '$') return { type: 'end' }
    if ('*+?{'.includes(char)) throw new BadPattern('a quantifier with nothing before it')
    const test = char === '\\' ? this.#escape() : char
    return { type: 'test', test: typeof test === 'string' ? within(test, test) : test }
  }

  #escape(): Test | string {
    if (this.#at >= this.#chars.length) throw new BadPattern('a \\ at the end')
    const char = this.#next()
    const test = ESCAPES[char.toLowerCase()]
    if (test !== undefined) return char === char.toLowerCase() ? test : other => !test(other)
    if (/[1-9bk]/.test(char)) throw new BadPattern('back references and \\b are not supported')
    return LITERAL_ESCAPES[char] ?? char
  }

  #class(): Test {
    const negated = this.#take('^')
    const tests: Test[] = []
    while (!this.#take(']')) {
      const from = this.#member()
      if (typeof from !== 'string') {
        tests.push(from)
        continue
      }
      const isRange = this.#peek() === '-' && (this.#chars[this.#at + 1] ?? ']') !== ']'
      if (!isRange) {
        tests.push(within(from, from))
        continue
      }
      this.#at++
      const to = this.#member()
      if (typeof to !== 'string' || to < from) throw new BadPattern('a range whose end is before its beginning')
      tests.push(within(from, to))
    }
    return char => tests.some(test => test(char)) !== negated
  }

  #member(): Test | string {
    if (this.#at >= this.#chars.length) throw new BadPattern('a [ without its ]')
    const char = this.#next()
    return char === '\\' ? this.#escape() : char
  }

  #peek = (): string | undefined => this.#chars[this.#at]
  #next = (): string => this.#chars[this.#at++] as string

  #take(char: string): boolean {
    if (this.#peek() !== char) return false
    this.#at++
    return true
  }
}

function emit(tree: Tree, program: Instruction[]): void {
  if (program.length > MAX_INSTRUCTIONS) throw new BadPattern('the pattern is too large')
  if (tree.type === 'test') program.push({ op: 'test', test: tree.test })
  else if (tree.type === 'start' || tree.type === 'end') program.push({ op: tree.type })
  else if (tree.type === 'sequence') for (const part of tree.parts) emit(part, program)
  else if (tree.type === 'choice') emitChoice(tree.parts, program)
  else emitRepeat(tree, program)
}

/** A jump is a split whose two ways are the same. */
function emitChoice(parts: Tree[], program: Instruction[]): void {
  const exits: { op: 'split'; a: number; b: number }[] = []
  for (const [index, part] of parts.entries()) {
    const split = { op: 'split' as const, a: program.length + 1, b: 0 }
    const isLast = index === parts.length - 1
    if (!isLast) program.push(split)
    emit(part, program)
    if (isLast) break
    const exit = { op: 'split' as const, a: 0, b: 0 }
    exits.push(exit)
    program.push(exit)
    split.b = program.length
  }
  for (const exit of exits) exit.a = exit.b = program.length
}

function emitRepeat({ part, min, max }: { part: Tree; min: number; max: number }, program: Instruction[]): void {
  for (let n = 0; n < min; n++) {
    const before = program.length
    emit(part, program)
    // Nothing repeated is still nothing; counting it out could take for ever.
    if (program.length === before) break
  }
  if (max === Number.POSITIVE_INFINITY) {
    const split = { op: 'split' as const, a: program.length + 1, b: 0 }
    program.push(split)
    emit(part, program)
    program.push({ op: 'split', a: split.a - 1, b: split.a - 1 })
    split.b = program.length
    return
  }
  for (let n = min; n < max; n++) {
    const split = { op: 'split' as const, a: program.length + 1, b: 0 }
    program.push(split)
    emit(part, program)
    split.b = program.length
  }
}

/** All ways through the program at once, one character at a time. */
function run(program: Instruction[], text: string[]): boolean {
  let threads = new Set<number>()
  const add = (first: number, set: Set<number>, at: number): void => {
    const todo = [first]
    for (let pc = todo.pop(); pc !== undefined; pc = todo.pop()) {
      if (set.has(pc)) continue
      set.add(pc)
      const step = program[pc]!
      if (step.op === 'split') todo.push(step.a, step.b)
      else if ((step.op === 'start' && at === 0) || (step.op === 'end' && at === text.length)) todo.push(pc + 1)
    }
  }
  const last = program.length - 1
  for (let at = 0; at <= text.length; at++) {
    add(0, threads, at)
    if (threads.has(last)) return true
    const next = new Set<number>()
    for (const pc of threads) {
      const step = program[pc]!
      if (at < text.length && step.op === 'test' && step.test(text[at]!)) add(pc + 1, next, at + 1)
    }
    threads = next
  }
  return false
}
