import { readFileSync } from 'node:fs'
import { PACKAGE_ROOT } from '../../kernel/package.ts'

const STYLE = readFileSync(new URL('control/http/pages/docs.css', PACKAGE_ROOT), 'utf8')

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, character => ESCAPES[character]!)

/** Text with `code` marks and paragraphs, as HTML. */
export const prose = (text: string): string =>
  escapeHtml(text)
    .split(/\n{2,}/)
    .map(paragraph => `<p>${paragraph.replace(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
    .join('\n')

/** A complete page. It loads nothing from elsewhere, so it works offline. */
export const htmlPage = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
