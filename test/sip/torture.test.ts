import { readdirSync, readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { parseMessage } from '../../sip/message/parse.ts'
import { suite } from '../harness.ts'
import { Party, Pipe } from './pipe.ts'

const test = suite('sip/torture')
const folder = new URL('../../fixtures/sip/torture/', import.meta.url)
const bytesOf = (name: string): Uint8Array => readFileSync(new URL(`${name}.dat`, folder))

/** The parser's result (`ok` or its error), and what a user agent does: answers with a status, reports a `call`, or drops it (`drop`). */
const CASES: Record<string, [parse: string, treatment: number | 'call' | 'drop']> = {
  wsinv: ['ok', 'call'],
  intmeth: ['ok', 405],
  esc01: ['ok', 'call'],
  escnull: ['ok', 200],
  esc02: ['ok', 405],
  lwsdisp: ['ok', 200],
  longreq: ['ok', 'call'],
  dblreq: ['ok', 405],
  semiuri: ['ok', 200],
  transports: ['ok', 200],
  unreason: ['ok', 'drop'],
  noreason: ['ok', 'drop'],
  badinv01: ['bad_via', 400],
  clerr: ['body_truncated', 400],
  ncl: ['bad_content_length', 400],
  scalar02: ['bad_cseq', 400],
  scalarlg: ['bad_cseq', 'drop'],
  quotbal: ['bad_address', 400],
  ltgtruri: ['bad_start_line', 400],
  lwsruri: ['bad_start_line', 400],
  lwsstart: ['bad_start_line', 400],
  trws: ['bad_start_line', 400],
  escruri: ['ok', 400],
  badaspec: ['bad_address', 400],
  baddn: ['bad_address', 400],
  badvers: ['bad_version', 505],
  mismatch01: ['method_mismatch', 400],
  mismatch02: ['method_mismatch', 400],
  bigcode: ['bad_start_line', 'drop'],
  badbranch: ['ok', 200],
  insuf: ['missing_header', 'drop'],
  unkscm: ['ok', 416],
  novelsc: ['ok', 416],
  unksm2: ['ok', 200],
  bext01: ['ok', 420],
  invut: ['ok', 415],
  regbadct: ['ok', 405],
  multi01: ['duplicate_header', 400],
  mcl01: ['duplicate_header', 400],
  bcast: ['ok', 'drop'],
  zeromf: ['ok', 200],
  test300mf: ['bad_max_forwards', 400],
  inv2543: ['ok', 'call'],
  ipv6: ['ok', 200],
  ipv6bad: ['ok', 400],
}

test('every message of the folder has an expectation', () => {
  const names = readdirSync(folder).filter(name => name.endsWith('.dat'))
  assert.equal(names.map(name => name.slice(0, -4)).sort(), Object.keys(CASES).sort())
})

for (const [name, [parse, treatment]] of Object.entries(CASES)) {
  test(`${name} is ${parse === 'ok' ? 'read' : `refused as ${parse}`} and treated as ${treatment}`, () => {
    const result = parseMessage(bytesOf(name))
    assert.is(result.kind === 'failure' ? result.error : 'ok', parse)
    const party = new Party(new Pipe(), '192.0.2.2')
    party.do(party.agent.receive(bytesOf(name), { transport: 'udp', host: '192.0.2.1', port: 5060 }, 0))
    const final = party.sent.map(({ text }) => Number(/^SIP\/2\.0 (\d+)/.exec(text)![1])).filter(status => status > 100)
    if (treatment === 'call') assert.equal([party.kinds(), final], [['incoming'], []])
    else assert.equal(final, treatment === 'drop' ? [] : [treatment])
    for (const { text } of party.sent.filter(({ text: sent }) => !sent.startsWith('SIP/2.0 100'))) {
      assert.match(text, /\r\nTo: [^\r]*;tag=/)
    }
  })
}

test('the tortuous INVITE is read to the last detail', () => {
  const result = parseMessage(bytesOf('wsinv'))
  if (result.kind !== 'request') throw new Error('refused')
  assert.equal([result.from.displayName, result.from.tag, result.to.tag], ['J Rosenberg \\"', '98asjd8', null])
  assert.equal(result.cseq, { number: 9, method: 'INVITE' })
  assert.equal([result.via.transport, result.via.host, result.via.branch], ['UDP', '192.0.2.2', '390skdjuw'])
  assert.is(result.headers.list('via').length, 3)
  assert.is(result.headers.get('newfangledheader'), 'newfangled value continued newfangled value')
  assert.is(result.headers.get('subject'), '')
  assert.match(Buffer.from(result.body).toString(), /^v=0/)
})

test('two requests in one datagram are one: the bytes after Content-Length are ignored', () => {
  const result = parseMessage(bytesOf('dblreq'))
  if (result.kind !== 'request') throw new Error('refused')
  assert.equal([result.method, result.body.length], ['REGISTER', 0])
})

test.run()
