import { METHODS } from './call.ts'
import { EVENT_FLAGS } from './event-commands.ts'
import { type Api, findOperation, flagsOf, loadApi } from './operations.ts'
import { PROFILE_VERBS } from './profile-command.ts'
import { accountOf, readConfigFile } from './profiles.ts'
import { isFailed, type Terminal } from './terminal.ts'

/** Called by shells as `tandem __complete WORD …`, where the last word is being typed. */
export const COMPLETE = '__complete'
const SHELLS = ['bash', 'zsh']

const BASH = `_tandem() {
  local IFS=$'\\n'
  COMPREPLY=($(tandem ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _tandem tandem
`
const ZSH = `#compdef tandem
_tandem() {
  local -a found
  found=("\${(@f)$(tandem ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- $found
}
compdef _tandem tandem
`

/** The script that a shell loads; null: the shell is unknown. */
export const completionScript = (shell: string | undefined): string | null =>
  shell === 'bash' ? BASH : shell === 'zsh' ? ZSH : null

const NO_API: Api = { operations: [], eventTypes: [] }

/** Candidates for the last word. Without a key or a connection, only those that need neither. */
export async function complete(
  terminal: Terminal,
  words: readonly string[],
  commands: readonly string[],
): Promise<string[]> {
  const account = accountOf(terminal.env, undefined)
  const api = isFailed(account) ? NO_API : await loadApi(terminal, account)
  const last = words.at(-1) ?? ''
  const found = candidates(terminal, isFailed(api) ? NO_API : api, words.slice(0, -1), commands)
  return [...new Set(found)].filter(word => word.startsWith(last) && (last !== '' || !word.startsWith('--')))
}

function candidates({ env }: Terminal, api: Api, before: readonly string[], commands: readonly string[]): string[] {
  const [command = '', verb] = before
  const flag = before.at(-1) ?? ''
  const families = [...new Set(api.eventTypes.map(type => `${type.split('.')[0]}.*`))]
  const config = readConfigFile(env)
  const profiles = isFailed(config) ? [] : Object.keys(config.profiles ?? {})
  if (flag === '--profile') return profiles
  if (flag === '--events') return [...families, ...api.eventTypes]
  if (command === '') return [...commands, ...api.operations.map(({ words }) => words[0] ?? '')]
  if (command === 'trigger') return api.eventTypes
  if (command === 'completion') return SHELLS
  if (command === 'profile') return verb === 'use' || verb === 'remove' ? profiles : PROFILE_VERBS
  if (command === 'listen' || command === 'resend') return EVENT_FLAGS[command].map(name => `--${name}`)
  if (METHODS.includes(command)) return api.operations.map(({ path }) => path.replace(/^\/v1/, ''))
  return ofOperations(api, before)
}

/** The next words of operations that begin with these, and the flags of the operation that they name. */
function ofOperations(api: Api, before: readonly string[]): string[] {
  const begun = api.operations.filter(({ words }) => before.every((word, i) => words[i] === word))
  const { operation } = findOperation(api, before) ?? {}
  const flags = operation === undefined ? [] : ['json', 'help', ...flagsOf(operation)]
  return [...begun.flatMap(({ words }) => words[before.length] ?? []), ...flags.map(name => `--${name}`)]
}
