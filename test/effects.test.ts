import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { readConfig } from '../control/kernel/config/read.ts'
import '../control/wiring/event-catalog.ts'
import { ERRORS } from '../control/http/errors.ts'
import { SCOPES } from '../control/http/scopes.ts'
import { eventTypes } from '../control/kernel/events/catalog.ts'
import { makeWorld } from './control/app-harness.ts'
import { productRoutes } from './control/conformance/product.ts'
import type { Shape } from './control/conformance/shapes.ts'
import { suite } from './harness.ts'

/**
 * A name in one of the product's lists (events, errors, scopes, settings) that its code never uses is an empty promise to users. A use is
 * found by name, in quotes, in a source that is neither the list nor its description.
 */
const test = suite('effects')

const root = fileURLToPath(new URL('../control/', import.meta.url))
const NO_COMMENT = /\/\*[\s\S]*?\*\//g
/** The lists, and what documents them. */
const DESCRIBES = /^(http\/pages\/|browsers\/pages\/|http\/(errors|scopes)\.ts|kernel\/config\/)/
const DESCRIPTION = /description:\s*(`[^`]*`|'[^'\n]*'|"[^"\n]*")/g
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

const world = await makeWorld()
const routes = productRoutes(world)
await world.store.close()

test('every scope is asked for by an operation', () => {
  const asked = new Set(routes.map(({ scope }) => scope))
  assert.equal(
    SCOPES.filter(scope => !asked.has(scope)),
    [],
  )
})

test('every parameter that an operation takes is read by something', () => {
  const names = new Set(routes.flatMap(({ body, query }) => [...namesIn(body), ...namesIn(query)]))
  const code = sources.map(text => text.replace(DESCRIPTION, ''))
  const isRead = (name: string): boolean => {
    const use = new RegExp(`\\.${name}\\b(?!\\()|'${name}'|[{,]\\s*${name}\\s*(?:[,}=]|:\\s*\\w+\\s*[,}=])`)
    return code.some(text => use.test(text))
  }
  assert.ok(names.size > 300)
  assert.equal(
    [...names].filter(name => !isRead(name)),
    [],
  )
})

/** The parameters of a schema, at any depth, but those that have one value only. */
function namesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {}, items, anyOf = [], additionalProperties } = schema as Shape
  const own = Object.entries(properties).flatMap(([name, inner]) => ('const' in inner ? [] : [name, ...namesIn(inner)]))
  return [...own, ...[items, additionalProperties, ...anyOf].flatMap(namesIn)]
}

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
