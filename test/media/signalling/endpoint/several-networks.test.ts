import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as assert from 'uvu/assert'
import { freePort } from '../../../../bench/free-port.ts'
import { OwnAddresses } from '../../../../media/kernel/own-addresses.ts'
import { SipEndpoint } from '../../../../media/signalling/endpoint/sip-endpoint.ts'
import { Names } from '../../../../media/signalling/names.ts'
import { headerOf, offer, request } from '../../../fuzz/raw-caller.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/signalling/endpoint/several-networks')

const NETWORKS = [
  { ours: '10.1.0.1', theirs: '10.1.0.7' },
  { ours: '10.2.0.1', theirs: '10.2.0.7' },
  { ours: '2001:db8:1::1', theirs: '2001:db8:1::7' },
  { ours: '2001:db8:2::1', theirs: '2001:db8:2::7' },
]
const ALONE = ['--user', '--map-root-user', '--net', 'sh', '-ec']
const addressOf = (host: string): string => (host.includes(':') ? `${host}/64 dev lo nodad` : `${host}/24 dev lo`)
/** The whole network is the machine's own, so that a far end may have an address in it too: with IPv4 it is so anyway. */
const IS_OURS = [
  'echo 1 > /proc/sys/net/ipv6/ip_nonlocal_bind',
  ...NETWORKS.filter(({ ours }) => ours.includes(':')).map(
    ({ ours }) => `ip -6 route add local ${ours.replace(/1$/, '/64')} dev lo src ${ours}`,
  ),
]
const SET_UP = ['ip link set lo up', ...NETWORKS.map(({ ours }) => `ip addr add ${addressOf(ours)}`), ...IS_OURS].join(
  '\n',
)

const SENTENCE =
  'who listens on "::" is known in each network, and each family, by its address there: Via, Contact and SDP'
const tried = spawnSync('unshare', [...ALONE, SET_UP], { encoding: 'utf8' })
if (tried.status === 0) {
  test(
    SENTENCE,
    async () => {
      const program = fileURLToPath(new URL('two-networks.ts', import.meta.url))
      const pairs = NETWORKS.map(({ ours, theirs }) => `${ours}=${theirs}`)
      const run = `${SET_UP}\nexec "$@"`
      const command = [...ALONE, run, 'sh', process.execPath, '--import', 'tsx', program, ...pairs]
      const { stdout } = await promisify(execFile)('unshare', command)
      assert.equal(
        JSON.parse(stdout),
        NETWORKS.map(({ ours }) => ({ answer: [ours, ours], call: [ours, ours, ours] })),
      )
    },
    { timeoutMs: 60_000 },
  )
} else test.skip(SENTENCE, `no network of its own: ${tried.error?.message ?? tried.stderr.trim()}`)

test('who has come over a connection to one of our addresses is told this one', async () => {
  const port = await freePort()
  const endpoint = new SipEndpoint({
    // A machine that is in no network.
    addresses: new OwnAddresses(['0.0.0.0'], [], {}),
    port,
    names: new Names(),
    productName: 'test',
    optionsStatus: () => ({ status: 200 }),
    onEvent: event => {
      if (event.kind === 'incoming') endpoint.do((agent, now) => agent.provisional(event.sessionId, 180, null, now))
    },
  })
  await endpoint.listen()
  for (const ours of ['127.0.0.2', '127.0.0.3']) {
    const socket = connect({ host: ours, port, localAddress: '127.0.0.9' })
    const dialog = {
      callId: ours,
      branch: `z9hG4bK${ours}`,
      user: 'desk',
      fromTag: 'far',
      host: '127.0.0.9',
      port: 5060,
    }
    const invite = request({ ...dialog, method: 'INVITE', serverPort: port, body: offer(4000) })
    socket.write(invite.replace('SIP/2.0/UDP', 'SIP/2.0/TCP'))
    let got = ''
    while (!got.includes('SIP/2.0 180')) got += String((await once(socket, 'data'))[0])
    assert.match(headerOf(got.slice(got.indexOf('SIP/2.0 180')), 'Contact') ?? '', `@${ours}:${port}`)
    socket.destroy()
  }
  endpoint.close()
})

test.run()
