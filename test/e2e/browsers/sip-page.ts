import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'esbuild'

/** A softphone that consists only of sip.js, for `page.evaluate`. `phone.answer()` answers an incoming call. */
const SOURCE = `
import { Inviter, Registerer, UserAgent, Web } from 'sip.js'

const media = { sessionDescriptionHandlerOptions: { constraints: { audio: true, video: false } } }

globalThis.phone = {
  state: 'idle',
  async register({ username, password, wsUrl }) {
    const agent = new UserAgent({
      uri: UserAgent.makeURI('sip:' + username + '@tandem.test'),
      authorizationUsername: username,
      authorizationPassword: password,
      transportOptions: { server: wsUrl, keepAliveInterval: 5 },
      logLevel: 'warn',
      delegate: { onInvite: invitation => phone.use(invitation, 'ringing') },
    })
    phone.agent = agent
    await agent.start()
    phone.registerer = new Registerer(agent)
    await phone.registerer.register()
  },
  async call(user) {
    const inviter = new Inviter(phone.agent, UserAgent.makeURI('sip:' + user + '@tandem.test'), media)
    phone.use(inviter, 'calling')
    await inviter.invite()
  },
  /** Its connection is lost, and it registers over another one. */
  async comeBack() {
    await phone.agent.transport.disconnect()
    await phone.agent.transport.connect()
    await new Promise(onAccept => phone.registerer.register({ requestDelegate: { onAccept } }))
  },
  answer: () => phone.session.accept(media),
  bye: () => phone.session.bye(),
  key: digit => phone.session.sessionDescriptionHandler.sendDtmf(digit),
  use(session, state) {
    phone.session = session
    phone.state = state
    session.stateChange.addListener(next => {
      phone.state = next
      if (next === 'Established') phone.listen(session.sessionDescriptionHandler.peerConnection)
    })
  },
  listen(connection) {
    phone.connection = connection
    const context = new AudioContext()
    const stream = new MediaStream(connection.getReceivers().map(receiver => receiver.track))
    // Chromium gives no audio to a context before an element plays the stream.
    const player = Object.assign(new Audio(), { srcObject: stream, muted: true })
    void player.play()
    phone.analyser = new AnalyserNode(context, { fftSize: 4096 })
    context.createMediaStreamSource(stream).connect(phone.analyser)
  },
  /** The loudest frequency that it hears [Hz], and how loud that is [dB]. */
  hears() {
    const bins = new Float32Array(phone.analyser.frequencyBinCount)
    phone.analyser.getFloatFrequencyData(bins)
    let at = 0
    for (let i = 1; i < bins.length; i++) if (bins[i] > bins[at]) at = i
    return { hz: (at * phone.analyser.context.sampleRate) / 4096, db: bins[at] }
  },
  /** The codec of what comes in. */
  async codec() {
    const stats = [...(await phone.connection.getStats()).values()]
    const { codecId } = stats.find(one => one.type === 'inbound-rtp') ?? {}
    return stats.find(one => one.id === codecId)?.mimeType ?? null
  },
}
`

/** A page of another origin, such as a customer's CRM, with sip.js. */
export class SipPage {
  readonly url: string
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async serve(): Promise<SipPage> {
    const { outputFiles } = await build({
      stdin: { contents: SOURCE, resolveDir: import.meta.dirname, loader: 'js' },
      bundle: true,
      format: 'iife',
      write: false,
    })
    const script = outputFiles[0]!.text
    const server = createServer((request, response) => {
      if (request.url === '/sip.js') response.setHeader('content-type', 'text/javascript').end(script)
      else {
        response.setHeader('content-type', 'text/html')
        response.end('<!doctype html><link rel="icon" href="data:,"><script src="/sip.js"></script><p>Phone</p>')
      }
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return new SipPage(server)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
