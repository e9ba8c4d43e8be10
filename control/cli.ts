#!/usr/bin/env node
import { type Config, configHelp, readConfig } from './config.ts'
import { openConfiguredStore } from './configured-store.ts'
import { prepareDataDir } from './data-dir.ts'
import { addOrganisation } from './first-start.ts'
import { VERSION } from './package.ts'
import { start } from './start.ts'

const HELP = `tandem ${VERSION}: a telephony media engine

  tandem start         runs it until Ctrl-C or SIGTERM
  tandem org add NAME  makes an organisation and prints its keys once; also while it runs
  tandem --help        this
  tandem --version     the version

Environment (default in brackets):
${configHelp().join('\n')}
`

/** Says why in one line; the exit code. */
function refuse(line: string): number {
  process.stderr.write(`${line}\n`)
  return 1
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

async function withConfig(run: (config: Config) => Promise<number>): Promise<number> {
  const read = readConfig(process.env)
  return 'errors' in read ? refuse(read.errors.join('\n')) : run(read.config)
}

async function addOrg(config: Config, name: string): Promise<number> {
  const prepared = prepareDataDir(config.dataDir)
  if (prepared !== null) return refuse(prepared.error)
  const store = await openConfiguredStore(config).catch((error: Error) => error)
  if (store instanceof Error) return refuse(store.message)
  try {
    const organisation = { name, pciEnabled: false, now: new Date() }
    const { organisationId, keys } = await store.transaction(trx => addOrganisation(trx, organisation))
    await store.durable()
    return print(
      `${name} (${organisationId})\nlive ${keys.live}\ntest ${keys.test}\nKeep them: they are shown only now.\n`,
    )
  } finally {
    await store.close()
  }
}

function run(args: string[]): number | Promise<number> {
  const [command, ...rest] = args
  if (command === undefined || command === '--help' || command === 'help' || command === '-h') return print(HELP)
  if (command === '--version' || command === '-v') return print(`${VERSION}\n`)
  if (command === 'start' && rest.length === 0) return withConfig(config => start(config, process.env))
  if (command === 'org') {
    const [verb, name, ...more] = rest
    const isGood = verb === 'add' && name !== undefined && name.trim() !== '' && name.length <= 200 && more.length === 0
    if (!isGood) return refuse('Say: tandem org add NAME (up to 200 characters; quote a name with spaces).')
    return withConfig(config => addOrg(config, name))
  }
  return refuse(`There is no command "${args.join(' ')}"; see tandem --help.`)
}

process.exit(await run(process.argv.slice(2)))
