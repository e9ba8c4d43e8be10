import { METHODS, runMethod, runOperation } from './call.ts'
import { COMPLETE, complete, completionScript } from './completion.ts'
import { runListen, runResend, runTrigger } from './event-commands.ts'
import { readFlags, takeFlag } from './flags.ts'
import { CLIENT_HELP } from './help.ts'
import { runProfile } from './profile-command.ts'
import { accountOf, NO_KEY } from './profiles.ts'
import { failed, isFailed, print, refuse, type Terminal } from './terminal.ts'

const EVENT_COMMANDS = { listen: runListen, resend: runResend, trigger: runTrigger }
const COMMANDS = [...Object.keys(EVENT_COMMANDS), ...METHODS, 'profile', 'completion']

/** Runs a command that speaks to a running Tandem. `others`: the other commands, for completion. Returns the exit code. */
export async function runClient(
  terminal: Terminal,
  args: readonly string[],
  others: readonly string[] = [],
): Promise<number> {
  if (args[0] === COMPLETE) {
    const found = await complete(terminal, args.slice(1), [...others, ...COMMANDS])
    return print(terminal, found.map(word => `${word}\n`).join(''))
  }
  const words = readFlags(args)
  if (isFailed(words)) return refuse(terminal, words)
  const profile = takeFlag(words, 'profile') ?? undefined
  const [command = '', ...rest] = words.words
  const behind = { ...words, words: rest }
  const isOurs = COMMANDS.includes(command)
  if (isOurs && takeFlag(behind, 'help') !== undefined) return print(terminal, CLIENT_HELP)
  if (command === 'profile') return runProfile(terminal, behind)
  if (command === 'completion') {
    const script = completionScript(rest[0])
    if (script !== null) return print(terminal, script)
    return refuse(terminal, failed('Usage: tandem completion bash, or tandem completion zsh.'))
  }
  const account = accountOf(terminal.env, profile)
  if (isFailed(account)) {
    const error = `There is no command "${args.join(' ')}" without a key; see tandem --help. ${account.error}`
    return refuse(terminal, isOurs || account.error !== NO_KEY ? account : { error })
  }
  if (METHODS.includes(command)) return runMethod(terminal, account, command, behind)
  const run = EVENT_COMMANDS[command as keyof typeof EVENT_COMMANDS]
  return run === undefined ? runOperation(terminal, account, words) : run(terminal, account, behind)
}
