import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import wavefile from 'wavefile'
import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { readWav } from '../../../codecs/wav.ts'

/** The headless shell has the same engine, and takes a quarter of the CPU for a page. */
const PATH = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync)

/** Why tests that need a browser cannot run here, or null. */
export const missingBrowser = (): string | null =>
  PATH === undefined ? 'not installed: chromium-headless-shell' : null

/** What the microphone repeats: a recorded sentence, because a browser suppresses anything but speech as noise; or nothing. */
type Microphone = 'speech' | 'silence'

const SILENCE = new Int16Array(NARROWBAND_HZ)
const SPEECH = new URL('../../../fixtures/prompts/announcement.wav', import.meta.url)

function said(microphone: Microphone): Int16Array {
  if (microphone === 'silence') return SILENCE
  const wav = readWav(readFileSync(SPEECH))
  if ('error' in wav) throw new Error(wav.error)
  return wav.samples[0]!
}

interface Launched {
  browser: Browser
  close(): Promise<void>
}

async function launch(microphone: Microphone): Promise<Launched> {
  const folder = mkdtempSync(join(tmpdir(), 'chromium-'))
  const file = new wavefile.WaveFile()
  file.fromScratch(1, NARROWBAND_HZ, '16', said(microphone))
  file.toSampleRate(48_000)
  writeFileSync(join(folder, 'voice.wav'), file.toBuffer())
  const browser = await chromium.launch({
    executablePath: PATH!,
    args: [
      '--no-sandbox',
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      `--use-file-for-fake-audio-capture=${join(folder, 'voice.wav')}`,
      '--autoplay-policy=no-user-gesture-required',
    ],
  })
  const close = async (): Promise<void> => {
    await browser.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { browser, close }
}

/** Browsers for all test files of this process, since launching one takes one and a half seconds of CPU. */
const launched = new Map<Microphone, Promise<Launched>>()

async function closeAll(): Promise<void> {
  const all = [...launched.values()]
  launched.clear()
  for (const one of all) await (await one).close()
}

// There is no further file.
process.once('disconnect', () => void closeAll())

/** Headless Chromium, for one file. */
export class Chromium {
  readonly #browser: Browser
  readonly #contexts: BrowserContext[] = []

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async launch(microphone: Microphone = 'speech'): Promise<Chromium> {
    const running = launched.get(microphone) ?? launch(microphone)
    launched.set(microphone, running)
    return new Chromium((await running).browser)
  }

  /** Opens a page in its own context, with the screen of a telephone; reports external resources and errors. */
  async open(
    url: string,
    before: (page: Page) => Promise<void> = async () => {},
  ): Promise<{ page: Page; faults: string[] }> {
    const context = await this.#browser.newContext({
      viewport: { width: 412, height: 860 },
      permissions: ['microphone'],
    })
    this.#contexts.push(context)
    const page = await context.newPage()
    const faults: string[] = []
    const { host } = new URL(url)
    page.on('pageerror', error => faults.push(String(error)))
    page.on('console', message => {
      if (message.type() === 'error') faults.push(message.text())
    })
    page.on('request', request => {
      const target = new URL(request.url())
      if (target.protocol.startsWith('http') && target.host !== host) faults.push(`loads ${request.url()}`)
    })
    await before(page)
    await page.goto(url)
    return { page, faults }
  }

  async close(): Promise<void> {
    for (const context of this.#contexts) await context.close()
    // A process that was started for a single file gets no message that there are no more.
    if (!process.connected) await closeAll()
  }
}
