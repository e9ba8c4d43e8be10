import type { Schema } from '../../kernel/versions/shape.ts'
import { ERRORS } from '../errors.ts'
import { exampleOf } from './example.ts'
import { GUIDES } from './guides.ts'
import { escapeHtml, htmlPage, prose } from './html.ts'
import { schemaTable } from './schema-table.ts'
import { KEY_FIELD, tryForm } from './try-it.ts'

interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema?: Schema
}

interface Operation {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}

/** The parts of an OpenAPI document that the page needs. */
export interface OpenApiDocument {
  info: { title: string; version: string; description?: string }
  paths: Record<string, Record<string, Operation>>
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** Stands for the address by which a client knows us, without a trailing slash. */
const BASE = 'https://base.invalid'

/** The API documentation, generated from the published OpenAPI document: its pieces, between which that address belongs. */
export function docsPage(document: OpenApiDocument): string[] {
  const entries = Object.entries(document.paths).flatMap(([path, operations]) =>
    METHODS.flatMap(method => (operations[method] ? [{ method, path, operation: operations[method] }] : [])),
  )
  const tags = [...new Set(entries.flatMap(entry => entry.operation.tags))]
  const grouped = tags.map(tag => ({ tag, entries: entries.filter(entry => entry.operation.tags.includes(tag)) }))
  const menu = grouped.map(
    group =>
      `<li class="group">${escapeHtml(group.tag)}</li>${group.entries.map(({ operation }) => `<li><a href="#${operation.operationId}">${escapeHtml(operation.summary)}</a></li>`).join('')}`,
  )
  return htmlPage(
    `${document.info.title} API`,
    `<h1>${escapeHtml(document.info.title)} API</h1>
${prose(document.info.description ?? '')}
<p>Base address <code>${BASE}/v1</code>. Send <code>Authorization: Bearer &lt;key&gt;</code>.
Machine-readable: <a href="/openapi.json">openapi.json</a>. Failures: <a href="/docs/errors">errors</a>. Versions and what changed: <a href="/changelog">changelog</a>.</p>
<nav aria-label="Guides"><ul><li class="group">Guides</li>${GUIDES.map(({ path, title }) => `<li><a href="${path}">${escapeHtml(title)}</a></li>`).join('')}</ul></nav>
${KEY_FIELD}
<nav aria-label="Operations"><ul>${menu.join('\n')}</ul></nav>
${grouped.map(group => `<h2>${escapeHtml(group.tag)}</h2>${group.entries.map(section).join('\n')}`).join('\n')}
<script src="/docs/try.js" type="module"></script>`,
  ).split(BASE)
}

function section({ method, path, operation }: { method: string; path: string; operation: Operation }): string {
  const body = firstSchema(operation.requestBody?.content)
  const [status, answer] = Object.entries(operation.responses).find(([code]) => code.startsWith('2')) ?? ['200', {}]
  const reply = firstSchema(answer.content)
  const fails = Object.keys(operation.responses).filter(code => !code.startsWith('2'))
  const bodyTable = body === null ? '' : schemaTable(body, true)
  const replyTable = reply === null ? '' : schemaTable(reply, false)
  return `<section id="${operation.operationId}">
<h3>${escapeHtml(operation.summary)}</h3>
<p><code><span class="method">${method.toUpperCase()}</span><span class="path">${escapeHtml(path)}</span></code></p>
${prose(operation.description ?? '')}
${parameterTable(operation.parameters ?? [])}
${bodyTable === '' ? '' : `<h4>Body</h4>${bodyTable}`}
<pre>${escapeHtml(curl(method, path, bodyTable === '' ? null : body))}</pre>
${replyTable === '' || reply === null ? '' : `<details><summary>Answer ${status}</summary>${replyTable}<pre>${escapeHtml(pretty(exampleOf(reply, 'all')))}</pre></details>`}
${tryForm({ id: operation.operationId, method, path }, operation.parameters ?? [], bodyTable === '' || body === null ? null : pretty(exampleOf(body, 'required')))}
<p>Errors: ${fails.map(code => `<a href="/docs/errors#status-${code}">${code}</a>`).join(', ')}</p>
</section>`
}

function parameterTable(parameters: Parameter[]): string {
  if (parameters.length === 0) return ''
  const properties = Object.fromEntries(
    parameters.map(({ name, schema, description }) => [name, { ...schema, ...(description && { description }) }]),
  )
  const required = parameters.filter(parameter => parameter.required).map(parameter => parameter.name)
  return `<h4>Parameters</h4>${schemaTable({ properties, required }, true)}`
}

const pretty = (value: unknown): string => JSON.stringify(value, null, 2)

/** The request as a curl command; `takes` is the body schema, null: none. */
function curl(method: string, path: string, takes: Schema | null): string {
  const verb = method === 'get' ? '' : `-X ${method.toUpperCase()} `
  const json = takes === null ? '' : pretty(exampleOf(takes, 'required')).replaceAll("'", "'\\''")
  const body = takes === null ? '' : ` \\\n  -H 'Content-Type: application/json' -d '${json}'`
  return `curl ${verb}${BASE}${path} \\\n  -H "Authorization: Bearer $TANDEM_KEY"${body}`
}

const firstSchema = (content: Record<string, { schema: Schema }> | undefined): Schema | null =>
  Object.values(content ?? {})[0]?.schema ?? null

/** Every error code with its remedy; `doc_url` of an error points to its entry. */
export function errorsPage(): string {
  const statuses = [...new Set(Object.values(ERRORS).map(error => error.status))].sort((a, b) => a - b)
  const parts = statuses.map(status => {
    const rows = Object.entries(ERRORS)
      .filter(([, error]) => error.status === status)
      .map(
        ([code, error]) =>
          `<tr id="${code}"><td><code>${code}</code></td><td><code>${error.type}</code></td><td>${prose(error.help)}</td></tr>`,
      )
    return `<h2 id="status-${status}">${status}</h2>
<table><thead><tr><th>error.code</th><th>error.type</th><th>What to do</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`
  })
  return htmlPage(
    'Tandem API errors',
    `<h1>Errors</h1>
<p>Every failure answers <code>{"error": {"type", "code", "message", "param", "doc_url", "request_id"}}</code>. Match on
<code>type</code> and <code>code</code>; the wording may change. <a href="/docs">Back to the API</a>.</p>
${parts.join('\n')}`,
  )
}
