import { readdirSync, readFileSync } from 'node:fs'
import { Marked } from 'marked'
import { gfmHeadingId } from 'marked-gfm-heading-id'
import { PACKAGE_ROOT } from '../../kernel/package.ts'
import { htmlPage } from './html.ts'

const FOLDER = new URL('docs/', PACKAGE_ROOT)

const markdown = new Marked(gfmHeadingId(), {
  // The pages are served by the names of their files, so links between them lead there. Files of other folders are not served.
  walkTokens: token => {
    if (token.type === 'link' && token.href.startsWith('../')) Object.assign(token, { type: 'text' })
  },
})

interface Guide {
  path: string
  title: string
  page(): string
}

/** The files of `docs/` as pages. */
export const GUIDES: readonly Guide[] = readdirSync(FOLDER)
  .filter(name => name.endsWith('.md'))
  .map(name => {
    const text = readFileSync(new URL(name, FOLDER), 'utf8')
    const title = /^# (.+)/.exec(text)![1]!
    const page = () => htmlPage(title, `<p><a href="/docs">API</a></p>\n${markdown.parse(text)}`)
    return { path: `/docs/guides/${name}`, title, page }
  })
