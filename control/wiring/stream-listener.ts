import { once } from 'node:events'
import { type WebSocket, WebSocketServer } from 'ws'

/** A receiver for trying out media streams: it prints messages, and the number of audio frames for each second and track. */

type Print = (line: string) => void

interface Message {
  event?: string
  start?: {
    streamSid: string
    callSid: string
    tracks: string[]
    mediaFormat: { encoding: string; sampleRate: number }
  }
  media?: { track: string; payload: string }
  dtmf?: { track: string; digit: string }
}

const SECOND_MS = 1000
/** Maximum length of a message; ours have a few hundred bytes. */
const MAX_MESSAGE = 65_536

/** Listens on the loopback address until the process is to end. Returns null, or why it cannot. */
export async function listenForStreams(port: number, print: Print): Promise<string | null> {
  const server = new WebSocketServer({ host: '127.0.0.1', port, maxPayload: MAX_MESSAGE })
  server.on('connection', ws => receive(ws, print))
  try {
    await once(server, 'listening')
  } catch (error) {
    return `Cannot listen on port ${port}: ${(error as Error).message}`
  }
  print(`Listening on ws://127.0.0.1:${port}/ until Ctrl-C.`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  return null
}

function receive(ws: WebSocket, print: Print): void {
  let name = 'a stream'
  const frames = new Map<string, { count: number; bytes: number }>()
  const tell = (): void => {
    for (const [track, { count, bytes }] of frames) print(`${name} ${track}: ${count} frames, ${bytes} bytes`)
    frames.clear()
  }
  const timer = setInterval(tell, SECOND_MS)
  ws.on('error', error => print(`${name}: ${error.message}`))
  ws.on('close', () => {
    clearInterval(timer)
    tell()
    print(`${name} closed`)
  })
  ws.on('message', data => {
    const { event, start, media, dtmf } = messageIn(String(data))
    if (event === 'start' && start !== undefined) {
      name = start.streamSid
      const { encoding, sampleRate } = start.mediaFormat
      print(`${name} starts: call ${start.callSid}, ${start.tracks.join(' and ')}, ${encoding} at ${sampleRate} Hz`)
    } else if (event === 'media' && media !== undefined) {
      const { count, bytes } = frames.get(media.track) ?? { count: 0, bytes: 0 }
      frames.set(media.track, { count: count + 1, bytes: bytes + Buffer.byteLength(media.payload, 'base64') })
    } else if (event === 'dtmf' && dtmf !== undefined) print(`${name} ${dtmf.track}: key ${dtmf.digit}`)
    else print(`${name}: ${String(data)}`)
  })
}

function messageIn(text: string): Message {
  try {
    return JSON.parse(text) as Message
  } catch {
    return {}
  }
}
