// One database: it reads the OpenAPI document, which is made of the routes.
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import * as assert from 'uvu/assert'
import { ERRORS } from '../../../../control/http/errors.ts'
import { VERSIONS } from '../../../../control/kernel/versions/current.ts'
import { suite } from '../../../harness.ts'
import { makeWholeApp } from '../../whole-app.ts'

const test = suite('control/http/pages/openapi')
const whole = await makeWholeApp()

interface Part {
  schema: object
  example?: unknown
}
interface Operation {
  operationId: string
  deprecated?: boolean
  tags: string[]
  parameters: { in: string; name: string }[]
  requestBody?: { required: boolean; content: Record<string, Part> }
  responses: Record<string, { $ref?: string; description: string; content?: Record<string, Part> }>
}

const texts = await Promise.all(
  VERSIONS.map(async version => (await whole.app.inject({ url: `/openapi.json?version=${version}` })).payload),
)
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
const documents: any[] = texts.map(text => JSON.parse(text))
const operationsOf = (document: (typeof documents)[number]): Operation[] =>
  Object.values<Record<string, Operation>>(document.paths).flatMap(methods => Object.values(methods))

/** As the specification heads their fields. */
const OBJECTS = [
  ...['ClientToken', 'FlowSimulation', 'FlowValidation', 'Flow', 'CopilotProfile', 'ConferenceRoom'],
  ...['ConferenceRoomWithLink', 'ConferenceSession', 'AudioAsset', 'CallPci', 'Queue', 'MediaStream'],
  ...['TestHelperEvent', 'Team', 'User', 'AgentStatus', 'ReportRun', 'Callback', 'WebhookEndpointPublicKey'],
]

VERSIONS.forEach((version, i) => {
  const document = documents[i]
  const operations = operationsOf(document)

  test(`the description of ${version} is valid OpenAPI 3.1`, async () => {
    assert.match(document.openapi, /^3\.1/)
    assert.is(document.info.version, version)
    const result = await new Validator().validate(structuredClone(document))
    assert.ok(result.valid, JSON.stringify(result.errors ?? '').slice(0, 2000))
  })

  test(
    `the description of ${version} is linted clean, its examples too, by the whole recommended ruleset`,
    async () => {
      const config = await createConfig({ extends: ['recommended'] })
      const problems = await lintFromString({ source: texts[i]!, config, absoluteRef: 'openapi.json' })
      assert.equal(
        problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`),
        [],
      )
    },
    { timeoutMs: 60_000 },
  )

  test(`every operation of ${version} shows what is sent and what is answered, failures too`, () => {
    const failures = document.components.responses
    for (const { operationId, requestBody, responses } of operations) {
      const json = requestBody?.content['application/json']
      if (requestBody !== undefined) assert.type(json?.example, 'object', `${operationId} has no example of its body`)
      for (const [status, answer] of Object.entries(responses)) {
        const shown = answer.$ref === undefined ? answer : failures[answer.$ref.split('/').at(-1)!]
        const part: Part | undefined = shown.content['application/json']
        const isFile = part === undefined && Object.keys(shown.content).length === 1
        assert.ok(isFile || part?.example !== undefined, `${operationId} has no example of ${status}`)
        assert.is.not(shown.description, 'Default Response', operationId)
        assert.ok(shown.headers['Request-Id'] && shown.headers['Service-Version'], `${operationId} ${status}`)
      }
    }
  })

  test(`every status of the catalogue of errors is one that ${version} describes; 405 is no operation's`, () => {
    const described = new Set(operations.flatMap(({ responses }) => Object.keys(responses)))
    const lacking = Object.values(ERRORS).filter(({ status }) => status !== 405 && !described.has(String(status)))
    assert.equal(lacking, [])
  })

  test(`a file that can be got in parts is described so in ${version}: the header \`Range\`, and 206`, () => {
    const inParts = operations.filter(({ responses }) => '416' in responses)
    assert.is(inParts.length, 5)
    for (const { operationId, parameters, responses } of inParts) {
      assert.equal(responses['206']?.content, responses['200']?.content, operationId)
      assert.ok(
        parameters.some(one => one.in === 'header' && one.name === 'Range'),
        operationId,
      )
    }
  })

  test(`every group of operations of ${version} is described`, () => {
    const described = document.tags.map((tag: { name: string; description?: string }) => tag.description && tag.name)
    assert.equal(described, [...new Set(operations.flatMap(({ tags }) => tags))])
  })

  test(`the objects of the specification have its names in ${version}`, () => {
    for (const name of OBJECTS) assert.ok(name in document.components.schemas, name)
  })

  test(`the operations of ${version} are deprecated when their answers say so`, async () => {
    const { headers } = await whole.live('GET /v1/teams', undefined, { headers: { 'Service-Version': version } })
    const says = headers.deprecation !== undefined
    assert.ok(operations.every(({ deprecated = false }) => deprecated === says))
  })
})

test('the older version is deprecated on the day of the tests, the current one is not', () => {
  assert.equal(
    documents.map(document => operationsOf(document).some(({ deprecated }) => deprecated)),
    [true, false],
  )
})

test.after(whole.close)
test.run()
