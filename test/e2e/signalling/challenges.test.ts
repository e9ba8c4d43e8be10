import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { Product } from '../../../bench/product.ts'
import { answerChallenge, parseChallenge } from '../../../sip/auth/digest.ts'
import { RawSocket } from '../../fuzz/raw-caller.ts'
import { suite } from '../../harness.ts'
import { curtain, invited } from '../scene.ts'

const test = suite('e2e/signalling/challenges')
const HOST = '127.0.0.1'
const SLOW = { timeoutMs: 120_000 }

/** Two nodes with one vault; only the first has the account. */
let node: Product
let other: Product
const folder = mkdtempSync(join(tmpdir(), 'tandem-challenges-'))
let account: { username: string; password: string }
test.before(async () => {
  node = await Product.start()
  copyFileSync(join(node.dataDir, 'vault.key'), join(folder, 'vault.key'))
  other = await Product.start({ dataDir: folder })
  account = (await invited(node, 'ann@example.com')).account
})
test.after(async () => {
  await curtain(node)
  await other?.stop()
  rmSync(folder, { recursive: true, force: true })
})

let cSeq = 0
/** Sends a REGISTER. @returns the node's answer */
async function register(at: Product, authorization: readonly string[] = []): Promise<string> {
  let answered: (text: string) => void = () => {}
  const answer = new Promise<string>(resolve => (answered = resolve))
  const socket = await RawSocket.open(bytes => answered(bytes.toString('latin1')))
  const lines = [
    `REGISTER sip:${HOST} SIP/2.0`,
    `Via: SIP/2.0/UDP ${HOST}:${socket.port};rport;branch=z9hG4bKchallenge${++cSeq}`,
    'Max-Forwards: 70',
    `From: <sip:${account.username}@${HOST}>;tag=1`,
    `To: <sip:${account.username}@${HOST}>`,
    'Call-ID: challenges',
    `CSeq: ${cSeq} REGISTER`,
    `Contact: <sip:ann@${HOST}:${socket.port}>`,
    ...authorization,
    'Content-Length: 0',
    '',
    '',
  ]
  await socket.send(Buffer.from(lines.join('\r\n')), at.sip)
  const text = await answer
  socket.close()
  return text
}

/** The Authorization that answers the challenge of a 401. */
function answerTo(challenged: string, nc = 1): string {
  const value = /^WWW-Authenticate: (.*)\r$/m.exec(challenged)?.[1] ?? ''
  const challenge = parseChallenge(value)
  assert.ok(challenge !== null, challenged)
  return `Authorization: ${answerChallenge(challenge, account, { method: 'REGISTER', uri: `sip:${HOST}` }, 'c', nc)}`
}

test(
  'a challenge of one node is answered at another with the same vault, once, and after the death of its media process',
  async () => {
    const challenged = await register(other)
    assert.match(challenged, /^SIP\/2\.0 401 /)
    const authorization = answerTo(challenged)
    assert.match(await register(node, [authorization]), /^SIP\/2\.0 200 /)
    assert.match(await register(node, [authorization]), /^SIP\/2\.0 401 [\s\S]*stale=true/, 'a replay')
    const before = await register(node)
    const { media } = node.pids
    process.kill(media, 'SIGKILL')
    await node.until('another media process', async () => ([0, media].includes(node.pids.media) ? null : true))
    await node.ready()
    assert.match(await register(node, [answerTo(before)]), /^SIP\/2\.0 200 /)
  },
  SLOW,
)

test.run()
