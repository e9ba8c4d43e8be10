import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { readConfig } from '../control/kernel/config/read.ts'
import '../control/wiring/event-catalog.ts'
import { ERRORS } from '../control/http/errors.ts'
import { SCOPES } from '../control/http/scopes.ts'
import { eventTypes } from '../control/kernel/events/catalog.ts'
import { suite } from './harness.ts'

/**
 * A name in one of the product's lists (events, errors, scopes, settings) that its code never uses is an empty promise to users. A use is
 * found by name, in quotes, in a source that is neither the list nor its description.
 */
const test = suite('effects')

const root = fileURLToPath(new URL('../control/', import.meta.url))
const NO_COMMENT = /\/\*[\s\S]*?\*\//g
/** The lists, and what documents them. */
const DESCRIBES = /^(http\/pages\/|browsers\/pages\/|http\/(errors|scopes)\.ts|kernel\/config\.ts)/
const EVENT_ENTRY = /^ +'?[\w.]+'?: of\(.*$/gm

const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.ts'))
  .filter(path => !DESCRIBES.test(path))
  .map(path => readFileSync(`${root}${path}`, 'utf8').replace(NO_COMMENT, '').replace(EVENT_ENTRY, ''))

const isUsed = (...forms: string[]): boolean => sources.some(text => forms.some(form => text.includes(form)))

test('every event type of the catalogue is emitted', () => {
  const head = (type: string): string => type.slice(0, type.lastIndexOf('.'))
  assert.ok(eventTypes().length > 50)
  assert.equal(
    eventTypes().filter(type => !isUsed(`'${type}'`, `\`${head(type)}.\${`)),
    [],
  )
})

test('every error code is answered by something', () => {
  assert.equal(
    Object.keys(ERRORS).filter(code => !isUsed(`'${code}'`)),
    [],
  )
})

test('every scope is asked for by an operation', () => {
  // Routes of plain resources derive their scopes from `area`.
  const ofArea = (scope: string): string => `area: '${scope.replace(/:(read|write)$/, '')}'`
  assert.equal(
    SCOPES.filter(scope => !isUsed(`'${scope}'`, ofArea(scope))),
    [],
  )
})

test('every setting is read', () => {
  const isRead = (name: string): boolean => {
    const use = new RegExp(`\\.${name}\\b|[{,]\\s*${name}\\s*[,:=}]`)
    return sources.some(text => use.test(text))
  }
  const read = readConfig({})
  if ('errors' in read) throw new Error(read.errors.join(' '))
  const names = Object.keys(read.config)
  assert.ok(names.length > 30)
  assert.equal(
    names.filter(name => !isRead(name)),
    [],
  )
})

test.run()
