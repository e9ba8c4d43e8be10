import fastify from 'fastify'
import * as assert from 'uvu/assert'
import { measureRequests } from '../../../../control/http/wire/request-metrics.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/http/wire/request-metrics')

test('servers of one process count their own requests, and share what watches the process', async () => {
  const apps = [fastify(), fastify()]
  const [first, second] = apps.map(app => measureRequests(app))
  const ofProcess = 'tandem_control_nodejs_eventloop_lag_seconds'
  assert.ok(first!.getSingleMetric(ofProcess))
  assert.is(first!.getSingleMetric(ofProcess), second!.getSingleMetric(ofProcess))
  await apps[0]!.inject('/none')
  const counts = await Promise.all([first!, second!].map(registry => registry.metrics()))
  assert.equal(
    counts.map(text => text.includes('tandem_http_request_duration_seconds_count')),
    [true, false],
  )
  await Promise.all(apps.map(app => app.close()))
})

test.run()
