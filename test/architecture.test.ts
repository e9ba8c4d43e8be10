import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { CACHED, ENTRIES } from '../build/parts.ts'
import { makeWholeApp } from './control/whole-app.ts'
import { suite } from './harness.ts'

// One database: it asks for /openapi.json, which is made of the routes.

const root = fileURLToPath(new URL('..', import.meta.url))

/** Which folders a folder may import. `control` may also import one file of `media`. */
const ARROWS: Record<string, readonly string[]> = {
  codecs: ['codecs'],
  sip: ['sip'],
  media: ['media', 'codecs', 'sip'],
  control: ['control', 'codecs'],
}
const CONTROL_MAY_SEE = 'media/protocol.ts'
/** Maximum number of files directly in a folder, so that a reader can take them in. */
const MAX_FLAT = 25
/** Maximum number of lines of `control/` for each operation of the API. It may be lowered, never raised. */
const MAX_LINES_OF_OPERATION = 274
/** Do not count: what is released stays as it is, and every change of a table adds one. */
const MIGRATIONS = 'store/migrations/'

/** Folders that may not do I/O or read the clock. */
const PURE = ['codecs', 'sip']
const FORBIDDEN_IN_PURE = /^node:(?!crypto$)/

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|(?:^|\n)\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g

const sourcesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .map(path => `${folder}/${path}`)

const files = Object.keys(ARROWS).flatMap(sourcesOf)
/** Including folders that may import anything. */
const allFiles = [...files, ...['bench', 'build', 'test'].flatMap(sourcesOf)]

const importsOf = (file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(IMPORT)].map(match => (match[1] ?? match[2] ?? match[3])!)

const oursOf = (file: string): string[] =>
  importsOf(file)
    .filter(name => name.startsWith('.'))
    .map(name => normalize(join(dirname(file), name)))

const folderOf = (file: string): string => file.split('/')[0]!

const test = suite('architecture')

test('every arrow between folders is one of docs/architecture.md', () => {
  assert.ok(files.length > 50, 'the walk found the sources')
  const wrong = files.flatMap(file =>
    oursOf(file)
      .filter(target => !ARROWS[folderOf(file)]!.includes(folderOf(target)))
      .filter(target => !(folderOf(file) === 'control' && target === CONTROL_MAY_SEE))
      .map(target => `${file} -> ${target}`),
  )
  assert.equal(wrong, [])
})

/** The folders of `control/` or `media/`, in the order of their table in docs/architecture.md: each may import those before it. */
const storeysOf = (part: string): string[] =>
  [
    ...readFileSync(join(root, 'docs/architecture.md'), 'utf8')
      .split(`## The storeys of ${part}/`)[1]!
      .split('\n## ')[0]!
      .matchAll(/^\| `([a-z-]+)\/` \|/gm),
  ].map(match => match[1]!)

/** Files directly in `media/`: every folder may import those of the `ground`, and none those of the `roof`. */
const BESIDE: Record<string, 'ground' | 'roof'> = {
  'media/protocol.ts': 'ground',
  'media/main.ts': 'roof',
  'media/config.ts': 'roof',
}

test('dist holds what is started as a thread or a process, and nothing else', () => {
  const started = files.flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\b(?:workerEntry|startWorker|built)\(\s*'([^']+)'/g)].map(
      ([, module]) => module!.replace(/\.js$/, ''),
    ),
  )
  assert.equal([...started, 'control/wiring/cli'].sort(), [...ENTRIES].sort())
})

for (const part of ['control', 'media']) {
  test(`in ${part} no folder imports one that stands above it`, () => {
    const storeys = storeysOf(part)
    assert.ok(storeys.length > 10, 'the table was found')
    const storeyOf = (file: string): number => {
      if (BESIDE[file] === 'ground') return 0
      return BESIDE[file] === 'roof' ? storeys.length : storeys.indexOf(file.split('/')[1]!)
    }
    const inPart = files.filter(file => folderOf(file) === part)
    assert.equal(
      inPart.filter(file => storeyOf(file) < 0),
      [],
      'every file stands in a folder of the table',
    )
    const up = inPart.flatMap(file =>
      oursOf(file)
        .filter(target => folderOf(target) === part && storeyOf(target) > storeyOf(file))
        .map(target => `${file} -> ${target}`),
    )
    assert.equal(up, [])
  })
}

test('at most 25 files lie flat in a folder', () => {
  const counts = new Map<string, number>()
  for (const file of allFiles) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  assert.equal(
    [...counts].filter(([, count]) => count > MAX_FLAT),
    [],
  )
})

test('no cycle of files in any folder, types included', () => {
  const state = new Map<string, 'open' | 'done'>()
  const cycles: string[] = []
  const known = new Set(allFiles)
  const visit = (file: string, path: string[]): void => {
    if (state.get(file) === 'done') return
    if (state.get(file) === 'open') {
      cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
      return
    }
    state.set(file, 'open')
    for (const target of oursOf(file)) if (known.has(target)) visit(target, [...path, file])
    state.set(file, 'done')
  }
  for (const file of allFiles) visit(file, [])
  assert.equal(cycles, [])
})

test('no folder imports one beside it that imports it back, by whatever way', () => {
  const arrows = new Map<string, Map<string, Set<string>>>()
  for (const file of files) {
    for (const target of oursOf(file)) {
      const [from, to] = [dirname(file).split('/'), dirname(target).split('/')]
      const shared = from.findIndex((part, i) => part !== to[i])
      const [a, b] = [from[shared], to[shared]]
      if (shared < 1 || a === undefined || b === undefined) continue
      const parent = from.slice(0, shared).join('/')
      const graph = arrows.get(parent) ?? new Map<string, Set<string>>()
      arrows.set(parent, graph.set(a, (graph.get(a) ?? new Set()).add(b)))
    }
  }
  const knots = [...arrows].flatMap(([parent, graph]) => {
    const reach = (from: string, seen = new Set<string>()): Set<string> => {
      for (const to of graph.get(from) ?? []) if (!seen.has(to)) reach(to, seen.add(to))
      return seen
    }
    const tied = [...graph.keys()].map(a => [...reach(a)].filter(b => reach(b).has(a)).sort())
    return [...new Set(tied.filter(names => names.length > 1).map(names => `${parent}: ${names.join(' ')}`))]
  })
  assert.equal(knots, [])
})

test('every relative import names a file that is there', () => {
  const missing = files.flatMap(file =>
    oursOf(file)
      .filter(target => !files.includes(target) && !target.endsWith('.d.ts'))
      .map(target => `${file} -> ${target}`),
  )
  assert.equal(missing, [])
})

test('codecs and sip do no I/O and have no clock, timers or chance of their own', () => {
  const wrong = files
    .filter(file => PURE.includes(folderOf(file)))
    .flatMap(file => {
      const text = readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      const globals = /\b(setTimeout|setInterval|setImmediate|Date\.now|performance\.now|Math\.random|process\.)/.exec(
        text,
      )
      return [
        ...importsOf(file).filter(name => FORBIDDEN_IN_PURE.test(name)),
        ...(globals === null ? [] : [globals[1]!]),
      ].map(what => `${file}: ${what}`)
    })
  assert.equal(wrong, [])
})

test(`control/ has at most ${MAX_LINES_OF_OPERATION} lines for each operation of the API`, async () => {
  const whole = await makeWholeApp()
  const { paths } = (await whole.app.inject({ url: '/openapi.json' })).json()
  await whole.close()
  const operations = Object.values<object>(paths).flatMap(Object.keys).length
  const inControl = files.filter(file => folderOf(file) === 'control' && !file.includes(MIGRATIONS))
  const lines = inControl.reduce((sum, file) => sum + readFileSync(join(root, file), 'utf8').split('\n').length - 1, 0)
  assert.ok(
    lines <= operations * MAX_LINES_OF_OPERATION,
    `${lines} lines, ${operations} operations: ${Math.round(lines / operations)}`,
  )
})

test('no two queries that are compiled once have one name: the second would answer what the first asks', () => {
  const NAMED = /\b(?:rowsOf|rowOf|run)\(\s*[\w.#]+,\s*(['`])(.*?)\1/gs
  const names = files.flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(NAMED)].map(match => match[2]),
  )
  assert.ok(names.length > 40, 'the search found the queries')
  assert.equal(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  )
})

/** Imports of single names, of a whole file, and what adds to an interface of another file. */
const BY_NAME = /\{([^{}]*)\}\s*(?:from|= await import\()\s*'(\.[^']+)'/g
const WHOLE = /(?:\* (?:as \w+ )?from|\bimport\()\s*'(\.[^']+)'/g
const ADDED = /^declare module '(\.[^']+)' \{\n\s*interface (\w+)/gm

test('what a file exports is imported somewhere: otherwise leave the word `export` out', () => {
  // What runs the script of the control process asks for its `main`.
  const imported = new Set(CACHED.map(module => `${module}.ts main`))
  for (const file of [...allFiles, ...sourcesOf('fixtures')]) {
    const text = readFileSync(join(root, file), 'utf8')
    const targetOf = (name: string): string => normalize(join(dirname(file), name))
    for (const [, names, from] of text.matchAll(BY_NAME))
      for (const name of names!.split(',')) imported.add(`${targetOf(from!)} ${/(?:type )?(\w+)/.exec(name)?.[1]}`)
    for (const [, from] of text.matchAll(WHOLE)) imported.add(targetOf(from!))
    for (const [, from, name] of text.matchAll(ADDED)) imported.add(`${targetOf(from!)} ${name}`)
  }
  const unused = files.flatMap(file =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(
        /^export (?:async |abstract )*(?:const|let|function\*?|class|interface|type) (\w+)/gm,
      ),
    ]
      .map(([, name]) => `${file} ${name}`)
      .filter(entry => !imported.has(file) && !imported.has(entry)),
  )
  assert.equal(unused, [])
})

/** In comments and in the pages for contributors. */
const NAMED_FILE = /`(?:[\w.-]+\/)*([\w.-]+\.(?:ts|md|wat))`/g
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/ .*$/gm

test('every file that a comment or a page names is there', () => {
  const folders = [...Object.keys(ARROWS), 'bench', 'build', 'deploy', 'docs', 'fixtures', 'test']
  const there = new Set(
    ['', ...folders].flatMap(folder =>
      readdirSync(join(root, folder), { recursive: folder !== '', encoding: 'utf8' }).map(path => basename(path)),
    ),
  )
  const pages = ['CONTRIBUTING.md', 'README.md', ...readdirSync(join(root, 'docs')).map(name => `docs/${name}`)]
  const missing = [...allFiles, ...pages.filter(name => name.endsWith('.md'))].flatMap(file => {
    const text = readFileSync(join(root, file), 'utf8')
    const said = file.endsWith('.md') ? text : (text.match(COMMENT) ?? []).join('\n')
    return [...said.matchAll(NAMED_FILE)].filter(([, name]) => !there.has(name!)).map(([name]) => `${file}: ${name}`)
  })
  assert.equal(missing, [])
})

test('no barrel: no file is named index.ts', () => {
  assert.equal(
    files.filter(file => file.endsWith('/index.ts')),
    [],
  )
})

test.run()
