import { isIP } from 'node:net'
import { resolve } from 'node:path'
import ipaddr from 'ipaddr.js'

/** How the text of a setting is read. */

const RTP_SOCKETS = ['auto', 'native', 'node'] as const

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A voice of a provider. `language`: BCP 47, null: that of the text. */
interface SpeechVoice {
  name: string
  language: string | null
}

/** Of a million tokens. */
interface ModelPrice {
  input: number
  output: number
}

/** `bad` says what to set instead. */
export type Parsed<T> = { value: T } | { bad: string }

export const ok = <T>(value: T): Parsed<T> => ({ value })
export const anyText = (text: string): Parsed<string> => ok(text)
export const bad = (advice: string): Parsed<never> => ({ bad: advice })

export function integer(min: number, max: number): (text: string) => Parsed<number> {
  return text => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? ok(value) : bad(`set a whole number from ${min} to ${max}`)
  }
}

export const address = (text: string): Parsed<string> =>
  isIP(text) ? ok(text) : bad('set an IP address, for example 127.0.0.1 or 0.0.0.0')

export function addressList(text: string): Parsed<string[]> {
  const addresses = [...new Set(items(text))]
  return addresses.length > 0 && addresses.every(item => isIP(item) !== 0)
    ? ok(addresses)
    : bad('set IP addresses separated by commas, for example 192.0.2.10,2001:db8::10, or 0.0.0.0 or ::')
}

export function publicAddresses(text: string): Parsed<string[]> {
  const addresses = items(text)
  const families = new Set(addresses.map(isIP))
  return addresses.length > 0 && !families.has(0) && families.size === addresses.length
    ? ok(addresses)
    : bad('set an IP address, or one of IPv4 and one of IPv6, separated by a comma')
}

const DNS_SERVER = /^(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?$/

export function dnsServers(text: string): Parsed<string[]> {
  const servers = items(text)
  const isServer = (item: string): boolean => {
    const [, six, four] = DNS_SERVER.exec(item) ?? []
    return isIP(item) !== 0 || isIP(six ?? four ?? '') !== 0
  }
  return servers.length > 0 && servers.every(isServer)
    ? ok(servers)
    : bad('set addresses separated by commas, for example 192.0.2.53,[2001:db8::53]:5353')
}

const items = (text: string): string[] =>
  text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')

export const names = (text: string): Parsed<string[]> =>
  items(text).length > 0 ? ok(items(text)) : bad('set names separated by commas')

export function portRange(text: string): Parsed<{ first: number; last: number }> {
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text)?.map(Number) ?? []
  const good = first !== undefined && last !== undefined && first >= 1024 && last <= 65_535 && last - first >= 3
  return good
    ? ok({ first, last })
    : bad('set FIRST-LAST within 1024-65535 and at least four ports, for example 20000-29999')
}

export function cidrList(text: string): Parsed<string[]> {
  const blocks = items(text)
  return blocks.length > 0 && blocks.every(block => ipaddr.isValidCIDR(block))
    ? ok(blocks)
    : bad('set CIDR blocks separated by commas, for example 10.0.0.0/8,192.168.1.5/32')
}

export function ttsVoices(text: string): Parsed<SpeechVoice[]> {
  const voices = items(text).map(item => /^([^:\s]{1,100})(?::([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*))?$/.exec(item))
  return voices.length > 0 && voices.every(voice => voice !== null)
    ? ok(voices.map(([, name = '', language = null]) => ({ name, language })))
    : bad('set names separated by commas, with a language where a voice has one: alloy,klara:de')
}

export function modelPrices(text: string): Parsed<ReadonlyMap<string, ModelPrice>> {
  const entries = items(text).map(item => /^([^=\s]+)=(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)$/.exec(item))
  const priceOf = ([, model = '', input, output]: string[]) =>
    [model, { input: Number(input), output: Number(output) }] as const
  return entries.length > 0 && entries.every(entry => entry !== null)
    ? ok(new Map(entries.map(priceOf)))
    : bad('set model=2.5/10, separated by commas: prices of a million input and output tokens')
}

export function modelUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && /^https?:$/.test(url.protocol)
    ? ok(text.replace(/\/+$/, ''))
    : bad('set an http:// or https:// URL, for example https://host/v1')
}

export function publicUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  const isBare = url !== null && url.search === '' && url.hash === '' && url.username === ''
  return isBare && /^https?:$/.test(url.protocol)
    ? ok(text.replace(/\/+$/, ''))
    : bad('set an http:// or https:// address, for example https://voice.example.com')
}

export function databaseUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  const isWhole =
    url !== null && /^postgres(ql)?:$/.test(url.protocol) && url.hostname !== '' && url.pathname.length > 1
  return isWhole ? ok(text) : bad('set postgres://USER:PASSWORD@HOST:5432/DATABASE, or leave it unset for SQLite')
}

const HEP_PORT = 9060
const HEP_CAPTURE_ID = 2001

export function hepTarget(text: string) {
  const url = URL.canParse(text) ? new URL(text) : null
  const captureId = Number(url?.searchParams.get('id') ?? HEP_CAPTURE_ID)
  const isWhole =
    url !== null && /^(udp|tcp|tls):$/.test(url.protocol) && url.hostname !== '' && ['', '/'].includes(url.pathname)
  if (!isWhole || !Number.isInteger(captureId) || captureId < 0 || captureId >= 2 ** 32) {
    return bad('set udp://, tcp:// or tls:// with the collector, for example udp://homer.example.com:9060?id=2001')
  }
  return ok({
    transport: url.protocol.slice(0, -1) as 'udp' | 'tcp' | 'tls',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? HEP_PORT : Number(url.port),
    captureId,
    password: url.searchParams.get('password'),
  })
}

const DRACHTIO_PORT = 9022

export function drachtioServer(text: string) {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || url.protocol !== 'tcp:' || url.hostname === '' || url.password === '') {
    return bad('set tcp://:SECRET@HOST:9022 with the address and secret of the drachtio server for applications')
  }
  return ok({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? DRACHTIO_PORT : Number(url.port),
    secret: decodeURIComponent(url.password),
  })
}

export function smtpUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== ''
    ? ok(text)
    : bad('set smtp:// or smtps://, for example smtps://USER:PASSWORD@mail.example.com?from=tandem@example.com')
}

export function sttUrl(text: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && /^(https?|wss?):$/.test(url.protocol)
    ? ok(text.replace(/\/+$/, ''))
    : bad(
        'set an http(s):// or ws(s):// URL, for example https://host/v1 or wss://host/v1/realtime?intent=transcription',
      )
}

/** Origins as browsers send them, or `*` for all. */
export function originList(text: string): Parsed<string[]> {
  const origins = text.split(',').map(part => part.trim())
  const wrong = origins.find(origin => origin !== '*' && !(URL.canParse(origin) && new URL(origin).origin === origin))
  return wrong === undefined ? ok(origins) : bad(`set origins such as https://crm.example.com, not ${wrong}`)
}

export const path = (text: string): Parsed<string> => (text.includes('\0') ? bad('set a path') : ok(resolve(text)))

/** RFC 4028 §4 allows no session shorter than 90 s. */
export function sessionSeconds(text: string): Parsed<number> {
  const parsed = integer(0, 86_400)(text)
  return 'value' in parsed && parsed.value > 0 && parsed.value < 90 ? bad('set 0, or 90 to 86400') : parsed
}

export const yesOrNo = (text: string): Parsed<boolean> =>
  text === 'yes' || text === 'no' ? ok(text === 'yes') : bad('set yes or no')

export const key = (prefix: string) => (text: string) =>
  new RegExp(`^${prefix}_[A-Za-z0-9_-]{16,200}$`).test(text)
    ? ok(text)
    : bad(`set ${prefix}_ and at least 16 letters, digits, - or _`)

export const rtpSockets = (text: string): Parsed<(typeof RTP_SOCKETS)[number]> => {
  const choice = RTP_SOCKETS.find(one => one === text)
  return choice === undefined ? bad(`set ${RTP_SOCKETS.join(', ')}`) : ok(choice)
}

export const logLevel = (text: string): Parsed<LogLevel> =>
  LOG_LEVELS.find(level => level === text) === undefined
    ? bad(`set one of ${LOG_LEVELS.join(', ')}`)
    : ok(text as LogLevel)
