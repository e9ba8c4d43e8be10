#!/usr/bin/env node
import { text } from 'node:stream/consumers'
import { CLIENT_HELP } from '../cli/help.ts'
import { didYouMean } from '../http/did-you-mean.ts'
import { configHelp, readConfig } from '../kernel/config/read.ts'
import { type Config, SETTINGS } from '../kernel/config/settings.ts'
import { VERSION } from '../kernel/package.ts'
import type { Store } from '../kernel/store/store.ts'
import type { Said } from './cli-store.ts'
import { KEY_USAGE, readKeyWords } from './cli-words.ts'
import { refuse, start } from './start.ts'

const HELP = `tandem ${VERSION}: a telephony media engine

  tandem start         runs it until Ctrl-C or SIGTERM
  tandem org add NAME  makes an organisation and prints its keys once; also while it runs
  tandem org list      the organisations, with their IDs
  ${KEY_USAGE}
                       makes a key and prints it once; also while it runs. For who has lost all others
  tandem listen PORT   receives media streams on this machine and prints what comes, until Ctrl-C
  tandem --help        this
  tandem --version     the version

${CLIENT_HELP}
Environment of tandem start (default in brackets):
${configHelp().join('\n')}
`

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

async function withConfig(run: (config: Config) => Promise<number>): Promise<number> {
  const read = readConfig(process.env)
  return 'errors' in read ? refuse(read.errors.join('\n')) : run(read.config)
}

/** Warns of misspelt settings, which would have no effect unnoticed. Clients, tests and Kubernetes have variables with that prefix too. */
function tellMisspelt(): void {
  const known = Object.values(SETTINGS).map(({ name }) => name.replace('TANDEM_', ''))
  for (const name of Object.keys(process.env)) {
    const [, given = ''] = /^TANDEM_(?!API_|TEST_|PROFILE$|CONFIG$|WEBHOOK_SECRET$)(.+)$/.exec(name) ?? []
    const meant = known.includes(given) ? null : didYouMean(given, known)
    if (meant !== null) refuse(`${name} is not a setting and has no effect: did you mean TANDEM_${meant}?`)
  }
}

type Commands = typeof import('./cli-store.ts')

/** Runs a command that opens the store; returns the exit code. */
const onStore = (command: (commands: Commands, store: Store) => Promise<Said>): Promise<number> =>
  withConfig(async config => {
    const commands = await import('./cli-store.ts')
    const said = await commands.withStore(config, store => command(commands, store))
    return 'error' in said ? refuse(said.error) : print(said.text)
  })

function runOrg([verb, name, ...more]: string[]): number | Promise<number> {
  if (verb === 'list' && name === undefined) return onStore(({ listOrganisations }, store) => listOrganisations(store))
  const isGood = verb === 'add' && name !== undefined && name.trim() !== '' && name.length <= 200 && more.length === 0
  if (isGood) return onStore(({ addOrg }, store) => addOrg(store, name))
  return refuse('Usage: tandem org list, or tandem org add NAME (up to 200 characters; quote a name with spaces).')
}

function runKey(words: string[]): number | Promise<number> {
  const wanted = readKeyWords(words)
  if (wanted === null) return refuse(`Usage: ${KEY_USAGE} (ORGANISATION: an ID or a name).`)
  return onStore(({ newKey }, store) => newKey(store, wanted, new Date()))
}

async function runStreamListener(port: string): Promise<number> {
  if (!(Number(port) >= 1 && Number(port) <= 65_535)) return refuse('Usage: tandem listen PORT (1 to 65535).')
  const { listenForStreams } = await import('./stream-listener.ts')
  const problem = await listenForStreams(Number(port), line => void print(`${line}\n`))
  return problem === null ? 0 : refuse(problem)
}

/** All other commands go to a running Tandem. Loaded on demand, so that `tandem start` is faster. */
async function runElsewhere(args: string[]): Promise<number> {
  const { runClient } = await import('../cli/run.ts')
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
  const terminal = {
    out: (text: string | Uint8Array): void => void process.stdout.write(text),
    err: (line: string): void => void process.stderr.write(`${line}\n`),
    env: process.env,
    signal: stop.signal,
    input: () => text(process.stdin),
  }
  const code = await runClient(terminal, args, COMMANDS)
  // Output to a pipe may still be in transit: `process.exit` would cut it off.
  await new Promise(resolve => process.stdout.write('', resolve))
  return code
}

const COMMANDS = ['start', 'org', 'key', '--help', '--version']

function run(args: string[]): number | Promise<number> {
  const [command, ...rest] = args
  if (command === undefined || command === '--help' || command === 'help' || command === '-h') return print(HELP)
  if (command === '--version' || command === '-v') return print(`${VERSION}\n`)
  if (COMMANDS.includes(command) && (rest.includes('--help') || rest.includes('-h'))) return print(HELP)
  if (command === 'start' && rest.length === 0) tellMisspelt()
  if (command === 'start' && rest.length === 0) return withConfig(config => start(config, process.env))
  if (command === 'org') return runOrg(rest)
  if (command === 'key') return runKey(rest)
  if (command === 'listen' && rest.length === 1 && /^\d+$/.test(rest[0]!)) return runStreamListener(rest[0]!)
  if (command === 'start') return refuse('Usage: tandem start.')
  return runElsewhere(args)
}

process.exit(await run(process.argv.slice(2)))
