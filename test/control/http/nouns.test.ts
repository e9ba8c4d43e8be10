// One database: it asks for routes, and for nothing that is stored.
import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeWorld } from '../app-harness.ts'
import { productRoutes } from '../conformance/product.ts'

const test = suite('control/http/nouns')

const page = readFileSync(new URL('../../../docs/nouns.md', import.meta.url), 'utf8')
const world = await makeWorld()

/** The content of the page: each path occurs once, in the row of its noun, after its methods. */
const written = [...page.matchAll(/`([A-Z ]+) (\/[^`]+)`/g)].flatMap(([, methods, path]) =>
  methods!.split(' ').map(method => `${method} ${path}`),
)

test('every operation stands in the table of nouns once, and none that there is not', () => {
  const operations = productRoutes(world).map(({ method, path }) => `${method} ${path}`)
  assert.equal([...written].sort(), operations.sort())
})

/** "What the service does", "Around these sit …": the nouns of the specification's first page that have operations. */
const NAMED = [
  ...['Assistants', 'Tools', 'Call flows', 'Knowledge base', 'Web calls', 'Client tokens', 'Voices'],
  ...['Phone numbers', 'SIP connections', 'Inbound routes', 'Queues', 'Agents', 'Users', 'Teams', 'Invitations'],
  ...['Conference rooms', 'Callbacks', 'Campaigns', 'Imports', 'Consent records', 'Do-not-call list'],
  ...['Copilot profiles', 'Post-call QA', 'Insights', 'Scheduled reports', 'Webhook endpoints', 'Webhook deliveries'],
  ...['Event log', 'Usage metering', 'Partner organisations', 'Audio assets', 'Secret names', 'Request logs'],
  ...['command-line tunnel', 'Test helpers'],
]

test('no noun of the specification’s first page is missing', () => {
  const nouns = [...page.matchAll(/^\| ([^|`]+?) \|/gm)].map(([, noun]) => noun!).join('; ')
  for (const noun of NAMED) assert.ok(nouns.includes(noun), noun)
})

test.run()
