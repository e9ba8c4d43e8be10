import * as assert from 'uvu/assert'
import { Registrar } from '../../../media/signalling/registrar.ts'
import type { PhoneContact } from '../../../sip/phones/phone-ways.ts'
import type { Peer, RegisterEvent } from '../../../sip/user-agent.ts'
import { suite } from '../../harness.ts'

const test = suite('media/signalling/registrar')
const NAT: Peer = { transport: 'udp', host: '198.51.100.7', port: 40_000 }
const [DESK, OLD] = ['sip:ann@192.168.1.5:5060', 'sip:ann@192.168.1.5:5062']

/** What is kept open once a REGISTER from there, for an hour and taking another contact back, is granted ten minutes. */
function kept(peer: Peer, contact = DESK) {
  const calls: { peer: Peer; contacts: readonly PhoneContact[]; hasJustCome: boolean }[] = []
  const gone: [string, string][] = []
  const agent = {
    answerRegister: () => [],
    keepOpen: (at: Peer, contacts: readonly PhoneContact[], hasJustCome: boolean) => {
      calls.push({ peer: at, contacts, hasJustCome })
      return []
    },
  }
  const registrar = new Registrar({ emit: () => {} })
  registrar.attach({
    do: use => void use(agent as never, 0),
    checkRegister: () => true,
    registered: () => {},
    unregistered: (at, uri) => void gone.push([at.transport, uri]),
  })
  const contacts = [
    { uri: contact, expiresS: 3600 },
    { uri: OLD, expiresS: 0 },
  ]
  const register = { registerId: 'reg1', contacts, bindings: [], path: [], peer, algorithm: 'MD5', username: 'ann' }
  registrar.onRegister(register as unknown as RegisterEvent)
  registrar.reply({ registerId: 'reg1', sipCode: 200, contacts: [{ uri: contact, expiresS: 600 }], minExpiresS: null })
  return { registrar, calls, gone }
}

test('the way to a phone over UDP is kept open for the time that is granted, and for a contact that is taken back no longer', () => {
  const { calls } = kept(NAT)
  const contacts = [
    { uri: DESK, expiresS: 600 },
    { uri: OLD, expiresS: 0 },
  ]
  assert.equal(calls, [{ peer: NAT, contacts, hasJustCome: true }])
})

test('a connection is kept open elsewhere, and the phones of a proxy by the proxy', () => {
  assert.equal(kept({ ...NAT, transport: 'tcp' }).calls, [])
  assert.equal(kept({ ...NAT, proxy: { origin: '203.0.113.9' } }).calls, [])
})

test('a connection is that of a stranger once its contact is taken back, or ends with its account', () => {
  const { registrar, gone } = kept({ ...NAT, transport: 'tcp' })
  assert.equal(gone, [['tcp', OLD]])
  registrar.keepOpen({ phones: [{ ...NAT, transport: 'tcp', uri: DESK, expiresS: 0 }] })
  assert.equal(gone.slice(1), [['tcp', DESK]])
})

test('after a restart those that control names are kept open', () => {
  const { registrar, calls } = kept({ ...NAT, transport: 'tls' })
  registrar.keepOpen({ phones: [{ ...NAT, transport: 'udp', uri: DESK, expiresS: 60 }] })
  assert.equal(calls, [{ peer: NAT, contacts: [{ uri: DESK, expiresS: 60 }], hasJustCome: false }])
})

test.run()
