import { leftOver, takeFlag, type Words } from './flags.ts'
import { DEFAULT_URL, isHttp, readConfigFile, writeConfigFile } from './profiles.ts'
import { type Failed, failed, isFailed, refuse, type Terminal } from './terminal.ts'

export const PROFILE_VERBS = ['add', 'list', 'use', 'remove']
const USAGE = 'Usage: tandem profile add NAME --key KEY|- [--url URL], or tandem profile list|use NAME|remove NAME.'

/** `tandem profile …`; the exit code. */
export async function runProfile(terminal: Terminal, words: Words): Promise<number> {
  const failure = await carryOut(terminal, words)
  return failure === null ? 0 : refuse(terminal, failure)
}

async function carryOut(terminal: Terminal, words: Words): Promise<Failed | null> {
  const { env } = terminal
  const [given, url] = [takeFlag(words, 'key'), takeFlag(words, 'url') ?? DEFAULT_URL]
  const [verb = '', name, ...more] = words.words
  const config = readConfigFile(env)
  if (isFailed(config)) return config
  const profiles = { ...config.profiles }
  const problem = leftOver(words, ['key', 'url'])
  if (problem !== null) return problem
  if (verb === 'list' && name === undefined) return list(terminal, profiles, config.current)
  if (!PROFILE_VERBS.includes(verb) || name === undefined || more.length > 0) return failed(USAGE)
  if (verb === 'add') {
    const key = given === '-' ? (await terminal.input()).trim() : given
    if (!key) return failed(USAGE)
    if (!isHttp(url)) return failed(`"${url}" is no http or https address, such as ${DEFAULT_URL}.`)
    profiles[name] = { url, key }
    return writeConfigFile(env, { ...config, profiles, current: config.current ?? name })
  }
  if (profiles[name] === undefined) return failed(`There is no profile "${name}"; see tandem profile list.`)
  if (verb === 'use') return writeConfigFile(env, { ...config, current: name })
  delete profiles[name]
  const { current, ...rest } = config
  return writeConfigFile(env, { ...rest, profiles, ...(current === name || current === undefined ? {} : { current }) })
}

/** Lists profiles. Of a key, only its kind and its end are shown. */
function list(terminal: Terminal, profiles: Record<string, { url: string; key: string }>, current?: string): null {
  for (const [name, { url, key }] of Object.entries(profiles)) {
    const hint = `${/^sk_(live|test)_/.exec(key)?.[0] ?? ''}…${key.slice(-4)}`
    terminal.out(`${name === current ? '*' : ' '} ${name}  ${url}  ${hint}\n`)
  }
  return null
}
