// One database: it reads pages that are made of the versions, and asks for no row.
import * as assert from 'uvu/assert'
import { ERRORS } from '../../../../control/http/errors.ts'
import { GUIDES } from '../../../../control/http/pages/guides.ts'
import { changelog } from '../../../../control/http/versions/changelog.ts'
import { API_VERSIONS } from '../../../../control/kernel/versions/all.ts'
import { VERSIONS } from '../../../../control/kernel/versions/current.ts'
import { type ApiVersion, added } from '../../../../control/kernel/versions/version.ts'
import { suite } from '../../../harness.ts'
import { type Answer, ask } from '../../app-harness.ts'
import { makeWholeApp, type WholeApp } from '../../whole-app.ts'

const test = suite('control/http/versions/changelog')

let world: WholeApp
test.before(async () => {
  world = await makeWholeApp()
})
test.after(() => world.close())

const TAGS = ['Added', 'Changed (versioned)', 'Deprecated']
const entries = () => changelog().flatMap(section => section.entries)

test('the changelog lists every change, newest first, tagged Added, Changed (versioned) or Deprecated', () => {
  assert.is(entries().length, API_VERSIONS.flatMap(({ changes }) => changes).length)
  const dates = entries().map(({ date }) => date)
  assert.equal(dates, [...dates].sort().reverse())
  assert.equal([...new Set(entries().map(({ tag }) => tag))].sort(), TAGS)
  assert.is(new Set(entries().map(({ id }) => id)).size, entries().length)
})

test('the changelog names whatever the API has: each group of its operations', async () => {
  const { paths } = (await ask(world.app, 'GET /openapi.json')).body
  const operations = Object.values(paths).flatMap(methods => Object.values(methods as object)) as { tags: string[] }[]
  const words = (text: string) => text.toLowerCase().replaceAll('-', ' ')
  const named = entries().map(({ text }) => words(text))
  const groups = new Set(operations.flatMap(({ tags }) => tags.map(tag => words(tag).replace(/s$/, ''))))
  assert.ok(groups.size > 30)
  assert.equal(
    [...groups].filter(group => !named.some(text => text.includes(group))),
    [],
  )
})

test('an addition between two versions keeps the IDs of the entries before it, and is listed by its date', () => {
  const before: ApiVersion = { date: '2026-01-01', changes: [added('Second'), added('First')] }
  const after = { ...before, changes: [added('Third', '2026-02-01'), ...before.changes] }
  const ids = (version: ApiVersion) =>
    Object.fromEntries(changelog([version])[0]!.entries.map(({ text, id }) => [text, id]))
  assert.equal({ ...ids(after), ...ids(before) }, ids(after))
  assert.equal(changelog([after])[0]!.entries[0]!.date, '2026-02-01')
})

test('/changelog shows each version and change, and loads nothing from elsewhere', async () => {
  const { status, text, headers } = await ask(world.app, 'GET /changelog')
  assert.is(status, 200)
  assert.match(String(headers['content-type']), 'text/html')
  for (const version of VERSIONS) assert.match(text, `<h2 id="${version}">`)
  for (const { id, tag } of entries()) {
    assert.match(text, `id="${id}"`)
    assert.match(text, tag)
  }
  assert.not.match(text, /<(script|link|img|iframe)|@import|url\(/)
})

test('the changelog has a feed, in Atom and as a JSON feed, whose entries lead to their lines', async () => {
  const atom = await ask(world.app, 'GET /changelog.xml', { headers: { host: 'tandem.test' } })
  assert.match(String(atom.headers['content-type']), 'application/atom+xml')
  const json = await ask(world.app, 'GET /changelog.json', { headers: { host: 'tandem.test' } })
  assert.match(String(json.headers['content-type']), 'application/feed+json')
  const feed = JSON.parse(json.text)
  assert.match(feed.version, 'https://jsonfeed.org/version/1')
  assert.is(feed.items.length, entries().length)
  const { text: page } = await ask(world.app, 'GET /changelog')
  for (const { url, tags, date_modified } of feed.items) {
    assert.match(page, `id="${url.split('#')[1]}"`)
    assert.ok(TAGS.includes(tags[0]), String(tags))
    assert.ok(Date.parse(date_modified) > 0)
    assert.match(atom.text, `<id>${url}</id>`)
  }
})

test('every doc_url that an error gives leads to a page and an anchor that the product serves', async () => {
  const { body } = await ask(world.app, 'GET /v1/calls')
  const { origin } = new URL(body.error.doc_url)
  for (const code of Object.keys(ERRORS)) {
    const url = new URL(body.error.doc_url.replace('api_key_missing', code))
    assert.is(url.origin, origin)
    const { status, text } = await ask(world.app, `GET ${url.pathname}`)
    assert.is(status, 200)
    assert.match(text, `id="${url.hash.slice(1)}"`)
  }
})

test('every link of the pages leads to a page and an anchor that is there', async () => {
  const pages = new Map<string, Promise<Answer>>()
  const page = (path: string): Promise<Answer> => {
    const answer = pages.get(path) ?? ask(world.app, `GET ${path}`)
    pages.set(path, answer)
    return answer
  }
  const origin = 'http://tandem.test'
  for (const path of ['/docs', '/docs/errors', '/changelog', ...GUIDES.map(guide => guide.path)]) {
    const links = [...(await page(path)).text.matchAll(/href="([^"]+)"/g)].map(match => match[1]!)
    for (const link of new Set(links)) {
      const url = new URL(link, origin + path)
      if (url.origin !== origin) continue
      const { status, text } = await page(url.pathname + url.search)
      assert.is(status, 200, `${path}: ${link}`)
      if (url.hash !== '') assert.match(text, `id="${url.hash.slice(1)}"`, `${path}: ${link}`)
    }
  }
})

test.run()
