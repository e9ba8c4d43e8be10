import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { types } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import * as assert from 'uvu/assert'
import { cacheOf, loadScript } from '../../build/code-cache.ts'
import { CACHED } from '../../build/parts.ts'
import { suite } from '../harness.ts'
import { OPTIMISES_LATE } from '../worker-messages.ts'

const test = suite('build/code-cache')

const root = fileURLToPath(new URL('../..', import.meta.url))
const TEXT = `exports.sum = (a, b) => a + b; exports.sep = require('node:path').sep; exports.file = __filename`

interface Sums {
  sum(a: number, b: number): number
  sep: string
  file: string
}

function inFolder(run: (script: string, folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const script = join(folder, 'sums.cjs')
  writeFileSync(script, TEXT)
  run(script, folder)
  rmSync(folder, { recursive: true, force: true })
}

test('a code cache of which the disk has lost a part is not given to V8, and made anew', () =>
  inFolder(script => {
    loadScript(script).keepCode()
    const whole = readFileSync(cacheOf(script))
    for (const damaged of [
      whole.subarray(0, 0),
      whole.subarray(0, 40),
      Buffer.from(whole).fill(0, whole.length >> 1),
    ]) {
      writeFileSync(cacheOf(script), damaged)
      const { exports, keepCode } = loadScript(script)
      assert.is((exports as Sums).sum(2, 3), 5)
      keepCode()
      const anew = statSync(cacheOf(script)).ino
      assert.ok(!readFileSync(cacheOf(script)).equals(damaged))
      loadScript(script).keepCode()
      assert.is(statSync(cacheOf(script)).ino, anew, 'V8 takes it')
    }
  }))

test('a script does the same with a code cache and without, and keeps one only if V8 has taken none', () =>
  inFolder((script, folder) => {
    for (const start of ['first', 'second']) {
      const { exports, keepCode } = loadScript(script)
      const { sum, sep, file } = exports as Sums
      assert.equal([sum(2, 3), sep, file], [5, '/', script], start)
      const before = statSync(cacheOf(script), { throwIfNoEntry: false })?.ino
      keepCode()
      const after = statSync(cacheOf(script)).ino
      if (start === 'first') assert.is(before, undefined)
      else assert.is(after, before)
    }
    assert.equal(readdirSync(folder).sort(), ['sums.cjs', basename(cacheOf(script))])
  }))

test('a cache that V8 does not take is replaced', () =>
  inFolder(script => {
    writeFileSync(cacheOf(script), 'of another version')
    const { exports, keepCode } = loadScript(script)
    assert.is((exports as Sums).sum(2, 3), 5)
    keepCode()
    assert.ok(readFileSync(cacheOf(script)).length > 100)
  }))

/** Runs something with other flags of V8. */
function withOtherFlags(run: () => void): void {
  setFlagsFromString(`${OPTIMISES_LATE}1`)
  try {
    run()
  } finally {
    setFlagsFromString(OPTIMISES_LATE)
  }
}

test('a process with other flags of V8 has a cache of its own, and leaves the one that the others take', () =>
  inFolder((script, folder) => {
    const load = (): void => loadScript(script).keepCode()
    load()
    const kept = statSync(cacheOf(script)).ino
    withOtherFlags(load)
    load()
    assert.is(statSync(cacheOf(script)).ino, kept, 'V8 takes it')
    assert.is(readdirSync(folder).length, 3)
  }))

test('what was compiled once the flags had changed is not kept: no other process would take it', () =>
  inFolder((script, folder) => {
    const { keepCode } = loadScript(script)
    withOtherFlags(keepCode)
    assert.equal(readdirSync(folder), ['sums.cjs'])
  }))

test('where nothing can be written the script runs all the same', () =>
  inFolder((script, folder) => {
    const { exports, keepCode } = loadScript(script)
    rmSync(folder, { recursive: true })
    keepCode()
    assert.is((exports as Sums).sum(2, 3), 5)
  }))

for (const name of CACHED) {
  test(`what the script of ${name} leaves out is CommonJS`, () => {
    const folder = join(root, 'dist', name, '..')
    const [script] = readdirSync(folder).filter(file => file.endsWith('.cjs'))
    const text = readFileSync(join(folder, script!), 'utf8')
    const left = [...text.matchAll(/__toESM\(require\("([^"]+)"\)/g)].map(([, module]) => module!)
    const packages = [...new Set(left)].filter(module => !isBuiltin(module))
    assert.ok(packages.length > 0, 'the search found them')
    const require = createRequire(join(folder, script!))
    // Node loads an ES module so, too, but as something else than it is to an import.
    assert.equal(
      packages.filter(module => types.isModuleNamespaceObject(require(module))),
      [],
    )
  })
}

test.run()
