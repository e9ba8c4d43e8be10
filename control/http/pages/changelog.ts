import { Feed } from 'feed'
import { type ChangelogEntry, changelog } from '../versions/changelog.ts'
import { escapeHtml, htmlPage, prose } from './html.ts'

const TITLE = 'Tandem API changelog'

const sunsetOf = ({ sunset }: ChangelogEntry): string => (sunset === null ? '' : ` Sunset: ${sunset}.`)

/** The changelog as a page. Each version has an anchor for `Link` headers and mails. */
export function changelogPage(): string {
  const sections = changelog().map(({ version, entries }, i) => {
    const rows = entries.map(
      entry =>
        `<tr id="${entry.id}"><td>${entry.date}</td><td><b>${escapeHtml(entry.tag)}</b></td><td>${prose(entry.text + sunsetOf(entry))}</td></tr>`,
    )
    return `<h2 id="${version}">${version}${i === 0 ? ' (current)' : ''}</h2>
<p><a href="/openapi.json?version=${version}">openapi.json of this version</a></p>
<table><thead><tr><th>Date</th><th>Kind</th><th>Change</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`
  })
  return htmlPage(
    TITLE,
    `<h1>API changelog</h1>
<p>A key is pinned to the version that was current when it was made; <code>Service-Version: &lt;date&gt;</code> chooses another one
for a request. To upgrade: read what is between your version and the new one, send the new one from a test key, run your tests, make a
new key, roll it out, revoke the old one. Feeds: <a href="/changelog.xml">Atom</a>, <a href="/changelog.json">JSON</a>.
<a href="/docs">Back to the API</a>.</p>
${sections.join('\n')}`,
  )
}

/** The changelog as a feed: Atom (RFC 4287) and JSON Feed 1. `baseUrl` without a trailing slash. */
export function changelogFeed(baseUrl: string): { atom: string; json: string } {
  const entries = changelog().flatMap(section => section.entries)
  const page = `${baseUrl}/changelog`
  const feed = new Feed({
    id: page,
    title: TITLE,
    author: { name: 'Tandem' },
    link: page,
    generator: false,
    language: 'en',
    updated: new Date(entries[0]?.date ?? 0),
    feedLinks: { atom: `${baseUrl}/changelog.xml`, json: `${baseUrl}/changelog.json` },
  })
  for (const entry of entries) {
    const link = `${page}#${entry.id}`
    feed.addItem({
      id: link,
      link,
      title: `${entry.tag}: ${entry.text.replaceAll('`', '')}`,
      content: prose(entry.text + sunsetOf(entry)),
      date: new Date(entry.date),
      category: [{ name: entry.tag, term: entry.tag }],
    })
  }
  return { atom: feed.atom1(), json: feed.json1() }
}
