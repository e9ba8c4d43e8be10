import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { freePort } from '../../bench/free-port.ts'
import { Product } from '../../bench/product.ts'
import { explainedMetrics } from '../../control/kernel/metrics/help.ts'
import { missingPrograms, suite } from '../harness.ts'
import { curtain } from './scene.ts'

const test = suite('e2e/metrics')
const missing = missingPrograms('openssl')

const file = (name: string): string => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')

/** The series that an expression names. */
const namesIn = (expression: string): string[] => [...expression.matchAll(/\btandem_[a-z0-9_]+/g)].map(([name]) => name)

let product: Product
let text: string
const dir = mkdtempSync(join(tmpdir(), 'tandem-metrics-'))

/** Settings with a certificate for TLS that the product also trusts for callers, since some series are about certificates. */
async function certificate(): Promise<Record<string, string>> {
  if (missing !== null) return {}
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '90']
  execFileSync('openssl', [...made, '-subj', '/CN=tandem', '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const port = String(await freePort())
  return {
    TANDEM_SIP_TLS_PORT: port,
    TANDEM_SIP_TLS_CERT: cert,
    TANDEM_SIP_TLS_KEY: key,
    TANDEM_STIR_TRUST_ANCHORS: cert,
  }
}

test.before(async () => {
  product = await Product.start({ env: await certificate() })
  text = await product.until('media answers', async () => {
    const metrics = await (await fetch(`${product.baseUrl}/metrics`)).text()
    return metrics.includes('tandem_media_up 1') ? metrics : null
  })
})
test.after(async () => {
  await curtain(product)
  rmSync(dir, { recursive: true, force: true })
})

/** The names of all series of `/metrics`, including the parts of histograms. */
function series(): Set<string> {
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!] as const)
  return new Set(
    types.flatMap(([name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  )
}

const seriesTest = (sentence: string, run: () => void): void =>
  missing === null ? test(sentence, run) : test.skip(sentence, missing)

seriesTest('every metric that is explained is one of a running Tandem', () => {
  const told = series()
  const parts = (name: string): string[] => [name, `${name}_count`]
  assert.equal(
    explainedMetrics().filter(name => !parts(name).some(part => told.has(part))),
    [],
  )
})

test('every metric of a running Tandem has a HELP line, once', () => {
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!)
  assert.ok(names.length > 80, `${names.length}`)
  assert.is(new Set(names).size, names.length)
  const helped = [...text.matchAll(/^# HELP (\S+) (\S.*)$/gm)].map(([, name]) => name!)
  assert.equal(
    names.filter(name => !helped.includes(name)),
    [],
    'say what they count: MEDIA_METRICS in media/protocol/metrics.ts, or HELP in control/kernel/metrics/help.ts',
  )
})

seriesTest('every series of the Grafana dashboard and of the alert rules is one of /metrics', () => {
  const known = series()
  const dashboard = JSON.parse(file('grafana-dashboard.json'))
  const expressions: string[] = [
    ...dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.map(({ query }: { query: string | { query: string } }) =>
      typeof query === 'string' ? '' : query.query,
    ),
    ...file('prometheus-alerts.yml')
      .split(/^ {6}- alert: /m)
      .map(rule => rule.split(/^ {8}labels:/m)[0]!),
  ]
  const names = [...new Set(expressions.flatMap(namesIn))]
  assert.ok(names.length > 25, `${names.length}`)
  assert.equal(
    names.filter(name => !known.has(name)),
    [],
  )
})

test('calls by outcome, set-up time, queue wait, agents, turns, jitter, loss, MOS and trunks are metrics', () => {
  const known = series()
  for (const name of [
    'tandem_calls_ended_total',
    'tandem_calls_running',
    'tandem_call_setup_seconds_bucket',
    'tandem_queue_wait_seconds_bucket',
    'tandem_agents',
    'tandem_turn_latency_seconds_bucket',
    'tandem_leg_jitter_seconds_bucket',
    'tandem_leg_loss_ratio_bucket',
    'tandem_leg_mos_bucket',
    'tandem_trunk_up',
  ])
    assert.ok(known.has(name), name)
})

test.run()
