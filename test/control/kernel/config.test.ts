import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { configHelp, readConfig } from '../../../control/kernel/config/read.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/config')

const read = (env: Record<string, string>) => {
  const result = readConfig(env)
  if ('errors' in result) throw new Error(result.errors.join('\n'))
  return result.config
}

test('an empty environment gives the defaults of the contract', () => {
  const config = read({})
  assert.match(config.dataDir, /\/data$/)
  assert.equal([config.httpHost, config.httpPort], ['127.0.0.1', 8080])
  assert.equal([config.sipHosts, config.sipPort], [['127.0.0.1'], 5060])
  assert.equal(config.rtpPorts, { first: 20000, last: 29999 })
  assert.equal(config.publicIps, [])
  assert.equal(config.allowPrivateUrls, [])
  assert.equal([config.liveKey, config.testKey], [null, null])
  assert.equal([config.logLevel, config.drainSeconds, config.maxCalls], ['info', 30, 1000])
  assert.ok(config.engineThreads >= 1)
})

test('good values are taken', () => {
  const config = read({
    TANDEM_HTTP_PORT: '0',
    TANDEM_SIP_HOST: '::1',
    TANDEM_RTP_PORTS: '30000-30099',
    TANDEM_ALLOW_PRIVATE_URLS: '10.0.0.0/8, ::1/128',
    TANDEM_LIVE_KEY: 'sk_live_0123456789abcdef',
    TANDEM_SMTP_URL: 'smtp://a:b@mail.test?from=c@d.test',
    TANDEM_LOG_LEVEL: 'debug',
    TANDEM_DATABASE_URL: 'postgres://tandem:secret@db.test:5432/tandem',
    TANDEM_NODE_ID: 'node-1',
  })
  assert.equal([config.databaseUrl, config.nodeId], ['postgres://tandem:secret@db.test:5432/tandem', 'node-1'])
  assert.is(config.httpPort, 0)
  assert.equal(config.sipHosts, ['::1'])
  assert.equal(config.rtpPorts, { first: 30000, last: 30099 })
  assert.equal(config.allowPrivateUrls, ['10.0.0.0/8', '::1/128'])
  assert.is(config.liveKey, 'sk_live_0123456789abcdef')
  assert.is(config.smtpUrl, 'smtp://a:b@mail.test?from=c@d.test')
})

test('an empty variable is an absent one', () => {
  assert.is(read({ TANDEM_HTTP_PORT: '' }).httpPort, 8080)
})

const BAD: [string, string][] = [
  ['TANDEM_HTTP_HOST', 'not a host'],
  ['TANDEM_HTTP_PORT', '65536'],
  ['TANDEM_HTTP_PORT', '80a'],
  ['TANDEM_SIP_HOST', 'localhost'],
  ['TANDEM_SIP_PORT', '0'],
  ['TANDEM_RTP_PORTS', '20000'],
  ['TANDEM_RTP_PORTS', '30000-20000'],
  ['TANDEM_RTP_PORTS', '80-90'],
  ['TANDEM_PUBLIC_IP', '300.1.1.1'],
  ['TANDEM_ENGINE_THREADS', '0'],
  ['TANDEM_ALLOW_PRIVATE_URLS', '10.0.0.1'],
  ['TANDEM_TRUSTED_PROXIES', 'localhost'],
  ['TANDEM_LOG_LEVEL', 'loud'],
  ['TANDEM_NODE_ID', 'a node'],
  ['TANDEM_DRAIN_SECONDS', '-1'],
  ['TANDEM_MAX_CALLS', '1e3'],
  ['TANDEM_SIP_HOST', ','],
  ['TANDEM_SIP_WS_ORIGINS', ','],
  ['TANDEM_SIP_PROXIES', ','],
  ['TANDEM_TRUSTED_PROXIES', ', ,'],
  ['TANDEM_ALLOW_PRIVATE_URLS', ','],
  ['TANDEM_DNS_SERVERS', ','],
  ['TANDEM_PUBLIC_IP', ','],
  ['TANDEM_MODEL_NAMES', ','],
  ['TANDEM_MODEL_PRICES', ','],
  ['TANDEM_TTS_VOICES', ','],
]

for (const [name, value] of BAD) {
  test(`${name}=${value} gives one line that names the variable, the value and what to do`, () => {
    const result = readConfig({ [name]: value })
    assert.ok('errors' in result)
    assert.is(result.errors.length, 1)
    const line = result.errors[0]!
    assert.ok(line.startsWith(`${name}=${value} is not valid: set `), line)
    assert.not.match(line, '\n')
  })
}

test('two of its own listeners that would take one TCP port are told by their names, others may have it', () => {
  const clash = (env: Record<string, string>) => {
    const result = readConfig(env)
    return 'errors' in result ? result.errors.join() : null
  }
  const both = (one: string, other: string, port: string) =>
    `${one} and ${other} are both ${port}: set one of them to another port.`
  assert.is(clash({ TANDEM_HTTP_PORT: '8081' }), both('TANDEM_WS_PORT', 'TANDEM_HTTP_PORT', '8081'))
  assert.is(clash({ TANDEM_HTTP_PORT: '5060' }), both('TANDEM_SIP_PORT', 'TANDEM_HTTP_PORT', '5060'))
  assert.is(clash({ TANDEM_WS_PORT: '5060' }), both('TANDEM_SIP_PORT', 'TANDEM_WS_PORT', '5060'))
  const tls = { TANDEM_SIP_TLS_CERT: 'a', TANDEM_SIP_TLS_KEY: 'b' }
  assert.is(clash({ ...tls, TANDEM_WSS_PORT: '5061' }), both('TANDEM_SIP_TLS_PORT', 'TANDEM_WSS_PORT', '5061'))
  assert.is(clash({ TANDEM_WS_PORT: '5061' }), null, 'without a certificate there is no TLS')
  const elsewhere = { TANDEM_HTTP_HOST: '192.0.2.1', TANDEM_HTTP_PORT: '5060' }
  assert.is(clash(elsewhere), null)
  assert.match(clash({ ...elsewhere, TANDEM_SIP_HOST: '0.0.0.0' }) ?? '', /both 5060/)
  assert.is(clash({ TANDEM_DRACHTIO_URL: 'tcp://:x@192.0.2.1:9022', TANDEM_WS_PORT: '5060' }), null)
})

test('the unit for systemd names settings that there are, and waits until the last calls are over', () => {
  const unit = readFileSync(new URL('../../../deploy/tandem.service', import.meta.url), 'utf8')
  const help = configHelp().join('\n')
  for (const name of unit.match(/TANDEM_\w+/g) ?? []) assert.match(help, name)
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])
  assert.ok(seconds >= read({}).drainSeconds + 15, 'BYEs, recordings and the last events take some more')
})

test('the unit for systemd does not give up while the database is away, and goes on when the system kills one process for want of memory', () => {
  const unit = readFileSync(new URL('../../../deploy/tandem.service', import.meta.url), 'utf8')
  const [, general = '', service = ''] = unit.split(/^\[\w+\]$/m)
  assert.match(general, /^StartLimitIntervalSec=0$/m)
  assert.match(service, /^Restart=on-failure$/m)
  assert.match(service, /^OOMPolicy=continue$/m)
})

test('every bad value gives its line', () => {
  const result = readConfig({ TANDEM_HTTP_PORT: 'x', TANDEM_SIP_PORT: 'y' })
  assert.is('errors' in result && result.errors.length, 2)
})

test('a secret is never printed, not even a bad one', () => {
  for (const name of ['TANDEM_LIVE_KEY', 'TANDEM_TEST_KEY', 'TANDEM_DATABASE_URL', 'TANDEM_SMTP_URL']) {
    const result = readConfig({ [name]: 'postgres://hunter2' })
    assert.ok('errors' in result)
    assert.match(result.errors[0]!, name)
    assert.not.match(result.errors[0]!, 'hunter2')
  }
})

test('the help lists every variable of the contract', () => {
  const help = configHelp().join('\n')
  for (const name of [
    'TANDEM_DATA_DIR',
    'TANDEM_HTTP_HOST',
    'TANDEM_HTTP_PORT',
    'TANDEM_SIP_HOST',
    'TANDEM_SIP_PORT',
    'TANDEM_RTP_PORTS',
    'TANDEM_PUBLIC_IP',
    'TANDEM_ENGINE_THREADS',
    'TANDEM_DATABASE_URL',
    'TANDEM_NODE_ID',
    'TANDEM_LIVE_KEY',
    'TANDEM_TEST_KEY',
    'TANDEM_ALLOW_PRIVATE_URLS',
    'TANDEM_SMTP_URL',
    'TANDEM_LOG_LEVEL',
  ]) {
    assert.match(help, name)
  }
})

test.run()
