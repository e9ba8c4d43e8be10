import { reachableHost, sipHostOf, urlHost, wsUrlOf } from '../kernel/addresses.ts'
import type { Config } from '../kernel/config/settings.ts'

/** What control tells the supervisor when it is ready. */
export interface ControlReady {
  type: 'ready'
  httpPort: number
  /** Generated keys, on the first start only. */
  keys: { live: string | null; test: string | null } | null
  numbers: { number: string; does: string }[]
}

/** The start screen: how to call in, how to use the API, how to stop. */
export function banner(config: Config, ready: ControlReady, version: string): string {
  const http = `http://${urlHost(reachableHost(config.httpHost))}:${ready.httpPort}`
  const width = Math.max(0, ...ready.numbers.map(({ number }) => number.length))
  const tls = config.sipTlsCert === null ? '' : `, TLS on port ${config.sipTlsPort}`
  const lines: [string, string][] = [
    ['SIP', `sip:${sipHostOf(config)}:${config.sipPort} (UDP and TCP${tls}); call for example`],
    ...ready.numbers.map(({ number, does }): [string, string] => ['', `${number.padEnd(width)}  ${does}`]),
    ['REST', `${http}/v1`],
    ['Web', `${wsUrlOf(config)} (calls of browsers)`],
    ['Docs', `${http}/docs`],
    ['Voice', voiceLine(config)],
    ...keyLines(ready.keys),
    ['Try', tryLine(http, config, ready)],
    ['Stop', `Ctrl-C (running calls may finish for ${config.drainSeconds} s; again: they are hung up)`],
  ]
  const text = lines.map(([label, value]) => `  ${label.padEnd(6)}${value}`.trimEnd())
  return `\nTandem ${version} is ready.\n\n${text.join('\n')}\n\n`
}

/** The line about speech recognition. Calls are answered before it is ready. */
const voiceLine = ({ speechPreload }: Config): string =>
  speechPreload
    ? 'callers are understood in a few seconds: a line below says when, and /readyz'
    : 'callers are understood a few seconds after the first word (TANDEM_SPEECH_PRELOAD=no)'

function keyLines(keys: ControlReady['keys']): [string, string][] {
  const lines: [string, string][] = []
  if (keys?.live) lines.push(['Keys', `live ${keys.live}`])
  if (keys?.test) lines.push([lines.length === 0 ? 'Keys' : '', `test ${keys.test}`])
  if (lines.length > 0) lines.push(['', 'Keep them: they are not shown again.'])
  return lines
}

/** A command to try: with the key if it is known, otherwise one that needs none. */
function tryLine(http: string, config: Config, ready: ControlReady): string {
  const key = ready.keys?.live ?? (config.liveKey === null ? null : '$TANDEM_LIVE_KEY')
  return key === null ? `curl ${http}/readyz` : `curl -H "Authorization: Bearer ${key}" ${http}/v1/conference_rooms`
}
