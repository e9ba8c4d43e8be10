import { PeerAudio } from './peer-audio.js'

/** One connection to the call WebSocket, in the words of its messages: JSON text, audio as base64 of linear samples at 16 kHz, or over WebRTC while that works. */
export class CallLine extends EventTarget {
  /** The leg that is in a call, or rings. */
  streamSid = null
  isInCall = false
  #socket
  #sound
  #sentMs = 0
  /** WebRTC for the audio of this call; null: there is no call. */
  #way = null

  /** Resolves when the page is admitted; throws an error whose message is for people. */
  static open(wsUrl, token, sound) {
    const address = `${wsUrl}?${new URLSearchParams({ client_token: token, format: 'l16_16000' })}`
    const socket = new WebSocket(address)
    return new Promise((resolve, reject) => {
      socket.onopen = () => resolve(new CallLine(socket, sound))
      socket.onerror = () =>
        reject(
          new Error(
            'No connection. Check your network and try again. If the link was used before, or is old, ask for a new one.',
          ),
        )
    })
  }

  constructor(socket, sound) {
    super()
    this.#socket = socket
    this.#sound = sound
    socket.onerror = null
    socket.onmessage = ({ data }) => this.#heard(JSON.parse(data))
    // Whoever closes the page in a call is asked: the call would be lost.
    const ask = event => {
      if (this.isInCall) event.preventDefault()
    }
    addEventListener('beforeunload', ask)
    socket.onclose = ({ code, reason }) => {
      removeEventListener('beforeunload', ask)
      this.#leaveWay()
      this.#tell('closed', { code, reason })
    }
    if (sound !== null) this.useSound(sound)
  }

  useSound(sound) {
    this.#sound = sound
    sound.onFrame = frame => {
      if (this.isInCall) this.#spoke(frame)
    }
  }

  #spoke(frame) {
    if (this.isWebRtc) {
      this.#sentMs += 20
      return
    }
    // What the network has not taken for half a second will come too late for a conversation.
    if (this.#socket.bufferedAmount > 32_000) return
    const payload = toBase64(new Uint8Array(frame.buffer, frame.byteOffset, frame.byteLength))
    this.#sentMs += 20
    this.#send({ event: 'media', streamSid: this.streamSid, media: { timestamp: String(this.#sentMs), payload } })
  }

  #heard(message) {
    switch (message.event) {
      case 'start':
        this.streamSid = message.streamSid
        this.isInCall = true
        this.#beginWay()
        this.#tell('start', message.start)
        break
      case 'media':
        this.#sound?.play(fromBase64(message.media.payload))
        break
      case 'clear':
        this.#sound?.clear()
        break
      case 'dtmf':
        this.#tell('key', message.dtmf)
        break
      case 'ring':
        this.streamSid = message.streamSid
        this.#tell('ring', message.ring)
        break
      case 'control':
        this.#tell('control', message.control)
        break
      case 'webrtc':
        void this.#way?.answer(message.webrtc.sdp)
        break
      case 'stop':
        this.isInCall = false
        this.#leaveWay()
        this.streamSid = null
        this.#sound?.clear()
        this.#tell('stop', message.stop)
        break
    }
  }

  /** Whether audio goes over WebRTC now, and not over the WebSocket. */
  get isWebRtc() {
    return this.#way?.isOpen === true
  }

  #beginWay() {
    this.#leaveWay()
    if (this.#sound === null) return
    const { streamSid } = this
    const way = new PeerAudio(this.#sound, () => this.#tell('way', { isWebRtc: way.isOpen }))
    this.#way = way
    way.begin(sdp => this.#send({ event: 'webrtc', streamSid, webrtc: { sdp } })).catch(() => way.close())
  }

  #leaveWay() {
    this.#way?.close()
    this.#way = null
  }

  accept() {
    this.#send({ event: 'accept', streamSid: this.streamSid })
  }

  /** Hangs up, or declines what rings. */
  stop() {
    this.#send({ event: 'stop', streamSid: this.streamSid })
  }

  key(digit) {
    this.#send({ event: 'dtmf', streamSid: this.streamSid, dtmf: { digit } })
  }

  control(body) {
    this.#send({ event: 'control', control: body })
  }

  close() {
    this.#socket.close(1000)
  }

  #send(message) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }))
  }
}

function toBase64(bytes) {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Samples are little-endian on the wire, as in every machine that has a browser. */
function fromBase64(text) {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i)
  return new Int16Array(bytes.buffer)
}
