// One database: it is about words that are typed and printed; each request is one of those that are tried on both.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { readApi } from '../../../control/cli/operations.ts'
import { suite } from '../../harness.ts'
import { makeCliWorld } from './cli-world.ts'

const test = suite('control/cli')
const world = await makeCliWorld()
const { app, tandem, url, home } = world
test.after(() => world.close())

test('every operation of the API has words of its own', async () => {
  const { operations, eventTypes } = readApi((await app.live('GET /openapi.json')).body)
  const words = operations.map(one => one.words.join(' '))
  assert.is(new Set(words).size, words.length, words.filter((one, i) => words.indexOf(one) !== i).join(', '))
  for (const one of [
    'calls list',
    'calls get',
    'calls create',
    'calls hangup',
    'calls recording start',
    'queues update',
  ]) {
    assert.ok(words.includes(one), one)
  }
  assert.ok(eventTypes.includes('call.ended'))
})

test('the API is spoken to by its words, and answers as a table or as JSON', async () => {
  const made = await tandem('queues create --name Support --json')
  assert.is(made.code, 0, made.err)
  const queue = JSON.parse(made.out)
  assert.is(queue.name, 'Support')
  assert.equal((await app.test(`GET /v1/queues/${queue.id}`)).body, queue)
  await tandem('queues create --name 42')
  const table = (await tandem('queues list')).out.split('\n')
  assert.match(table[0]!, /^id +name +/)
  assert.match(table[1]!, /^q_\w+ +42 +/)
  assert.match(table[2]!, new RegExp(`^${queue.id} +Support +`))
  const page = await tandem('queues list --limit 1')
  const [, cursor] = /--starting_after (\S+)/.exec(page.err) ?? []
  assert.match((await tandem(`queues list --limit 1 --starting_after ${cursor}`)).out, queue.id)
  await tandem('queues create --name Newest')
  const newer = await tandem(`queues list --limit 1 --ending_before ${queue.id}`)
  const [, on] = /--ending_before (\S+)/.exec(newer.err) ?? []
  assert.match((await tandem(`queues list --limit 1 --ending_before ${on}`)).out, 'Newest')
  assert.match((await tandem(`queues get ${queue.id}`)).out, /^name +Support$/m)
  assert.match((await tandem(`queues update ${queue.id} --name Sales`)).out, /^name +Sales$/m)
  assert.is(JSON.parse((await tandem(`get /queues/${queue.id} --json`)).out).name, 'Sales')
  await tandem('calls list')
  assert.is(JSON.parse((await tandem(`patch /v1/queues/${queue.id} --json -d {"name":"Orders"}`)).out).name, 'Orders')
  assert.is((await tandem(`delete /queues/${queue.id}`)).code, 0)
  assert.is((await app.test(`GET /v1/queues/${queue.id}`)).status, 404)
  const posted = await tandem('post /teams --name Night --json')
  assert.is(JSON.parse(posted.out).name, 'Night')
  const line = (await app.live('POST /v1/queues', { name: 'Back' })).body.id
  const live = { TANDEM_API_KEY: app.ours.keys.live }
  const call = await tandem(
    `callbacks create --queue_id ${line} --phone +12025550123 --metadata.team blue --json`,
    live,
  )
  assert.equal(JSON.parse(call.out || '{}').metadata, { team: 'blue' }, call.err)
  assert.is((await tandem('reports list')).out, 'None.\n')
})

test('what strangers have written steers no terminal', async () => {
  await app.test('POST /v1/teams', { name: 'Night\u001b[2J\u009b2J' })
  const shown = (await tandem('teams list')).out
  assert.match(shown, 'Night·[2J·2J')
  await app.test('POST /v1/teams', { name: `a\u202eb${'👍'.repeat(100)}` })
  const odd = (await tandem('teams list')).out
  assert.match(odd, /a·b(👍)+…/u, 'neither is the line turned around, nor a character cut')
  const json = (await tandem('teams list --json')).out
  assert.not.ok(json.includes('\u001b') || json.includes('\u009b'))
})

test('what cannot be done is told in a line that says what to change', async () => {
  const says = async (line: string, more: Record<string, string> = {}): Promise<string> => {
    const { code, out, err } = await tandem(line, more)
    assert.equal([code, out, err.trimEnd().split('\n').length], [1, '', 1], err)
    return err
  }
  assert.match(await says('queues lst'), /Of queues there is: .*list/)
  assert.match(await says('nonsense'), 'See tandem --help')
  assert.match(await says('queues get'), 'Usage: tandem queues get ID.')
  assert.match(await says('queues get q_none'), 'No such queue: q_none')
  assert.match(await says('queues create --nam Support'), /nam/)
  assert.match(await says('queues create -d [1]'), '-d is not a JSON object')
  assert.match(await says('queues create --name'), '--name has no value')
  assert.match(await says('get queues'), 'Usage: tandem get /PATH')
  assert.match(await says('queues list', { TANDEM_API_KEY: 'sk_test_x' }), /is the key of TANDEM_API_KEY one of/)
  assert.match(await says('fly', { TANDEM_API_KEY: '' }), 'There is no command "fly"')
  assert.match(await says('queues create --name --json'), '--name has no value')
  assert.match(await says('trigger call.ended call.endet'), /There is no event "call.endet"; there are .*call.ended/)
})

test('--help behind the first words of operations lists them, and behind a command of the client the commands', async () => {
  const calls = await tandem('calls --help')
  assert.is(calls.code, 0, calls.err)
  assert.match(calls.out, /^ {2}tandem calls hangup ID\n {6}\w/m)
  assert.not.match(calls.out, 'tandem queues')
  assert.match((await tandem('fly --help')).err, 'There is no command "fly"')
  for (const one of ['listen', 'resend', 'trigger', 'get', 'profile', 'completion']) {
    const { code, out } = await tandem(`${one} --help`, { TANDEM_API_KEY: '' })
    assert.is(code, 0, one)
    assert.match(out, `tandem ${one === 'get' ? 'get|post' : one}`)
  }
})

test('an address that is none is told by the name of its variable, whatever the command', async () => {
  const { err } = await tandem('calls list', { TANDEM_API_URL: 'nonsense' })
  assert.is(err, '"nonsense" (TANDEM_API_URL) is no http or https address, such as http://127.0.0.1:8080.\n')
})

test('--help behind an operation has what it takes: what each may be, what it means, what is required', async () => {
  const { out } = await tandem('campaigns create --help')
  assert.match(out, /^ {2}tandem campaigns create$/m)
  assert.match(out, /^ {2}--name {2}string, required$/m)
  assert.match(
    out,
    /^ {2}--mode {2}progressive\|predictive\|preview$\n {6}How agents get calls\. progressive: one call/m,
  )
  assert.match(out, /^ {2}--allowed_hours {2}object or null$/m)
  assert.match((await tandem('campaigns list --help')).out, /^ {2}--status {2}draft\|running/m)
  assert.ok(Math.max(...out.split('\n').map(line => line.length)) <= 110, out)
})

test('an array is said word by word, its noun with dashes too, and what is in an object is shown', async () => {
  const { out, err } = await tandem('do-not-call check --phones +15005550001 --phones +15005550002 --json')
  const phones = JSON.parse(out || '{}').results?.map((one: { phone: string }) => one.phone)
  assert.equal(phones, ['+15005550001', '+15005550002'], err)
  const one = JSON.parse((await tandem('campaigns create --name Shown --caps.per_day 7 --json')).out)
  assert.match((await tandem(`campaigns get ${one.id}`)).out, /^caps\.per_day +7$/m)
  assert.match((await tandem('usage get --granularity month')).out, /^from +to +calls\.count +calls\.answered/)
})

test('a file is sent by its path, whatever its size, and one that is not there is named', async () => {
  const path = join(home, 'num"bers.csv')
  const rows = Array.from({ length: 20_000 }, (_, i) => `+97253${1_000_000 + i},no`)
  writeFileSync(path, `Tel,reason\n${rows.join('\n')}\n`)
  const line = `imports create --target do_not_call_numbers --mapping.phone Tel --dry_run true --file`
  const { out, err } = await tandem(`${line} ${path} --json`)
  const made = JSON.parse(out || '{}')
  assert.equal([made.file?.filename, made.mapping, made.dry_run], ['num"bers.csv', { phone: 'Tel' }, true], err)
  assert.is(made.file.size_bytes, statSync(path).size)
  assert.match((await tandem(`${line} ${path}.not`)).err, '--file: ENOENT')
})

test('profiles are kept in a file that nobody else may read, and chosen by name', async () => {
  const bare = { TANDEM_API_KEY: '' }
  assert.is((await tandem(`profile add live --key ${app.ours.keys.live} --url ${url}`, bare)).code, 0)
  assert.is((await tandem(`profile add test --key - --url ${url}/`, bare, `${app.ours.keys.test}\n`)).code, 0)
  const file = join(home, '.config/tandem/config.json')
  assert.is(statSync(file).mode & 0o777, 0o600)
  const listed = (await tandem('profile list', bare)).out
  assert.match(listed, new RegExp(`^\\* live {2}${url} {2}sk_live_…`, 'm'))
  assert.not.match(listed, app.ours.keys.live)
  const mode = async (line: string, more = {}): Promise<boolean> =>
    JSON.parse((await tandem(line, { ...bare, ...more })).out).livemode
  assert.is(await mode('teams create --name a --json'), true)
  assert.is(await mode('--profile test teams create --name a --json'), false)
  assert.is(await mode('teams create --name a --json', { TANDEM_PROFILE: 'test' }), false)
  await tandem('profile use test', bare)
  assert.is(await mode('teams create --name a --json'), false)
  await tandem('profile remove test', bare)
  assert.match((await tandem('teams list', bare)).err, 'There is no key yet')
  assert.match((await tandem('--profile test teams list', bare)).err, 'There is no profile "test"')
  chmodSync(file, 0o644)
  assert.match((await tandem('--profile live teams list', bare)).err, `chmod 600 ${file}`)
  chmodSync(file, 0o600)
  writeFileSync(file, '{"profiles":[]}')
  assert.match((await tandem('--profile live teams list', bare)).err, 'is not in our format')
  assert.is(readFileSync(file, 'utf8'), '{"profiles":[]}')
  writeFileSync(file, '{}')
})

test('shells complete commands, operations, flags and event types', async () => {
  const complete = async (...words: string[]): Promise<string[]> =>
    (await tandem(`__complete ${words.join(' ')}`)).out.trimEnd().split('\n')
  assert.equal(await complete('que'), ['queues'])
  assert.equal(await complete('st'), ['start'])
  assert.ok((await complete('calls', '')).includes('hangup'))
  assert.equal(await complete('calls', 'recording', 'st'), ['start', 'stop'])
  assert.equal(await complete('queues', 'list', '--li'), ['--limit'])
  assert.equal(await complete('trigger', 'call.end'), ['call.ended'])
  assert.ok((await complete('listen', '--events', 'call')).includes('call.*'))
  assert.equal(await complete('listen', '--f'), ['--forward-to', '--from'])
  const bash = (await tandem('completion bash')).out
  const stub = 'tandem() { printf "%s\\n" "$@"; }'
  const script = `${stub}\n${bash}COMP_WORDS=(tandem calls li); COMP_CWORD=2; _tandem; printf "%s|" "\${COMPREPLY[@]}"`
  assert.is(execFileSync('bash', ['-c', script], { encoding: 'utf8' }), '__complete|calls|li|')
  const zsh = (await tandem('completion zsh')).out
  assert.match(zsh, /^#compdef tandem\n/)
  if (existsSync('/bin/zsh')) execFileSync('/bin/zsh', ['-n', '-c', zsh])
  assert.match((await tandem('completion fish')).err, 'Usage: tandem completion bash')
})

test.run()
