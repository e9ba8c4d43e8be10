/** So long a network may take to let WebRTC through; then the WebSocket it stays [ms]. */
const WITHIN_MS = 5000

/**
 * The audio of one call by WebRTC, where the network lets it through: offered over the line's WebSocket when the call begins. `isOpen`
 * says whether it goes this way; it may change at any time.
 */
export class PeerAudio {
  isOpen = false
  #connection
  #sound
  #changed

  /** @param changed called when `isOpen` has */
  constructor(sound, changed) {
    this.#sound = sound
    this.#changed = changed
  }

  /** @param offer sends the offer (SDP) */
  async begin(offer) {
    if (globalThis.RTCPeerConnection === undefined) return
    const connection = new RTCPeerConnection()
    this.#connection = connection
    connection.addTrack(this.#sound.track, this.#sound.stream)
    connection.ontrack = ({ track }) => this.#sound.hear(new MediaStream([track]))
    connection.onconnectionstatechange = () => this.#follow()
    await connection.setLocalDescription()
    // The far end is lite and asks for no addresses of ours.
    offer(connection.localDescription.sdp)
    setTimeout(() => {
      if (!this.isOpen) this.close()
    }, WITHIN_MS)
  }

  /** @param sdp null: there will be no WebRTC */
  async answer(sdp) {
    if (this.#connection === undefined) return
    if (sdp === null) this.close()
    else await this.#connection.setRemoteDescription({ type: 'answer', sdp })
  }

  #follow() {
    const { connectionState } = this.#connection
    this.#set(connectionState === 'connected')
    if (connectionState === 'failed') this.close()
  }

  #set(isOpen) {
    if (this.isOpen === isOpen) return
    this.isOpen = isOpen
    this.#changed()
  }

  /** Idempotent. */
  close() {
    const connection = this.#connection
    this.#connection = undefined
    if (connection !== undefined) {
      connection.onconnectionstatechange = null
      connection.close()
      this.#sound.hear(null)
    }
    this.#set(false)
  }
}
