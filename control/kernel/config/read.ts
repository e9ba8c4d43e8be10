import type { Config } from './config.ts'
import { SETTINGS, type Setting } from './settings.ts'

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
  if (errors.length === 0 && (values.sipTlsCert === null) !== (values.sipTlsKey === null)) {
    errors.push('TANDEM_SIP_TLS_CERT and TANDEM_SIP_TLS_KEY need each other: set both, or neither.')
  }
  if (errors.length === 0 && values.wssPort !== null && values.sipTlsCert === null) {
    errors.push('TANDEM_WSS_PORT needs a certificate: set TANDEM_SIP_TLS_CERT and TANDEM_SIP_TLS_KEY.')
  }
  if (errors.length === 0 && (values.stirKey === null) !== (values.stirCertUrl === null)) {
    errors.push('TANDEM_STIR_KEY and TANDEM_STIR_CERT_URL need each other: set both, or neither.')
  }
  return errors.length > 0 ? { errors } : { config: values as unknown as Config }
}

/** The lines of `tandem --help` about the environment. */
export function configHelp(): string[] {
  const settings = Object.values(SETTINGS) as Setting<unknown>[]
  const width = Math.max(...settings.map(setting => setting.name.length))
  return settings.map(setting => `  ${setting.name.padEnd(width)}  ${setting.help} (${setting.default ?? 'not set'})`)
}
