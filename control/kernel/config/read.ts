import { type Config, SETTINGS, type Setting } from './settings.ts'

/** The configuration in `env`, or one line for each bad value with the variable, the value and what to do. */
export function readConfig(env: Record<string, string | undefined>): { config: Config } | { errors: string[] } {
  const errors: string[] = []
  const values: Record<string, unknown> = {}
  for (const [field, setting] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const given = env[setting.name]
    const text = given === undefined || given === '' ? setting.default : given
    if (text === null) {
      values[field] = setting.absent
      continue
    }
    const parsed = setting.parse(text)
    if ('value' in parsed) values[field] = parsed.value
    else errors.push(`${setting.name}=${setting.secret ? '(hidden)' : text} is not valid: ${parsed.bad}.`)
  }
  const config = values as unknown as Config
  const misfit = errors.length > 0 ? null : misfitOf(config)
  if (misfit !== null) errors.push(misfit)
  return errors.length > 0 ? { errors } : { config }
}

/** What is wrong with values that are good by themselves. */
function misfitOf(config: Config): string | null {
  if ((config.sipTlsCert === null) !== (config.sipTlsKey === null))
    return 'TANDEM_SIP_TLS_CERT and TANDEM_SIP_TLS_KEY need each other: set both, or neither.'
  if (config.wssPort !== null && config.sipTlsCert === null)
    return 'TANDEM_WSS_PORT needs a certificate: set TANDEM_SIP_TLS_CERT and TANDEM_SIP_TLS_KEY.'
  if ((config.stirKey === null) !== (config.stirCertUrl === null))
    return 'TANDEM_STIR_KEY and TANDEM_STIR_CERT_URL need each other: set both, or neither.'
  return clashOf(config)
}

/** Two listeners of ours for one TCP port: the second would find it taken. */
function clashOf({ httpHost, httpPort, sipHosts, sipTlsCert, drachtio, ...config }: Config): string | null {
  const isShared =
    [httpHost, ...sipHosts].some(host => host === '0.0.0.0' || host === '::') || sipHosts.includes(httpHost)
  const ports = [
    ...(drachtio === null ? [['TANDEM_SIP_PORT', config.sipPort] as const] : []),
    ...(drachtio === null && sipTlsCert !== null ? [['TANDEM_SIP_TLS_PORT', config.sipTlsPort] as const] : []),
    ['TANDEM_WS_PORT', config.wsPort] as const,
    ...(config.wssPort === null ? [] : [['TANDEM_WSS_PORT', config.wssPort] as const]),
    ...(isShared ? [['TANDEM_HTTP_PORT', httpPort] as const] : []),
  ]
  const [name, port] = ports.find(([, port], n) => ports.findIndex(other => other[1] === port) < n) ?? []
  const other = ports.find(one => one[1] === port)?.[0]
  return name ? `${other} and ${name} are both ${port}: set one of them to another port.` : null
}

/** The lines of `tandem --help` about the environment. */
export function configHelp(): string[] {
  const settings = Object.values(SETTINGS) as Setting<unknown>[]
  const width = Math.max(...settings.map(setting => setting.name.length))
  return settings.map(setting => `  ${setting.name.padEnd(width)}  ${setting.help} (${setting.default ?? 'not set'})`)
}
