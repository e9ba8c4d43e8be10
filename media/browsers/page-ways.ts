import { answerOffer, OPUS, PCMA, PCMU } from '../../sip/sdp/offer-answer.ts'
import type { OwnAddresses } from '../kernel/own-addresses.ts'
import { isFailure, randomUint32 } from '../protocol.ts'
import { legMediaOf } from '../signalling/line.ts'
import { newIceCredentials } from '../signalling/lines.ts'
import type { BrowserLine } from './browser.ts'
import { webRtcMessage } from './browser-messages.ts'

interface PageWaysOptions {
  addresses: OwnAddresses
  /** SHA-256 of our certificate. */
  fingerprint: string
}

/** WebRTC for the audio of pages: a page offers it over its WebSocket, when it is in a call, and is answered there (RFC 3264). */
export class PageWays {
  readonly #options: PageWaysOptions

  constructor(options: PageWaysOptions) {
    this.#options = options
  }

  /** Answers an offer; without SDP if there will be no WebRTC, and the page stays on the WebSocket. */
  async answer(line: BrowserLine, sdp: string): Promise<void> {
    const { browser, legId } = line
    const answer = browser.offers.allow(performance.now()) ? await this.#agree(line, sdp) : null
    // It has come back on another connection meanwhile, with a new offer.
    if (line.browser === browser) browser.socket.send(webRtcMessage(legId, answer))
  }

  async #agree({ engine, legId, browser }: BrowserLine, sdp: string): Promise<string | null> {
    const { addresses, fingerprint } = this.#options
    if (engine === null) return null
    const own = addresses.for(browser.at) ?? addresses.main
    const opened = await engine.request('leg.open_way', { legId, host: own.host })
    if (isFailure(opened)) return null
    const ice = newIceCredentials()
    const { port, ssrc } = opened
    const dtls = {
      fingerprint: { hash: 'sha-256', value: fingerprint },
      role: null,
      tlsId: null,
      ice,
      ssrc,
      codecs: [OPUS],
      isWebRtc: true,
    }
    const ours = { codecs: [PCMU, PCMA], telephoneEvent: false, host: own.advertised, port, rtcpMux: true, dtls }
    const session = { id: String(randomUint32()), previous: null }
    const agreed = answerOffer(Buffer.from(sdp), ours, 'sendrecv', session)
    if ('error' in agreed || agreed.media.dtls === null) return null
    const media = legMediaOf(agreed.media, { dtmf: 'info', peer: null, ice }, () => false)
    const connected = await engine.request('leg.connect', { legId, media, enter: null })
    return isFailure(connected) ? null : Buffer.from(agreed.answer).toString()
  }
}
