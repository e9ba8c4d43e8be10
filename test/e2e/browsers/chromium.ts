import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import wavefile from 'wavefile'
import { NARROWBAND_HZ } from '../../../codecs/audio.ts'

const PATH = '/usr/bin/chromium'

/** Why tests that need a browser cannot run here, or null. */
export const missingBrowser = (): string | null => (existsSync(PATH) ? null : 'not installed: chromium')

/** Headless Chromium whose microphone says these samples (8 kHz) over and over. */
export class Chromium {
  readonly #browser: Browser
  readonly #folder: string

  private constructor(browser: Browser, folder: string) {
    this.#browser = browser
    this.#folder = folder
  }

  static async launch(voice: Int16Array): Promise<Chromium> {
    const folder = mkdtempSync(join(tmpdir(), 'chromium-'))
    const file = new wavefile.WaveFile()
    file.fromScratch(1, NARROWBAND_HZ, '16', voice)
    file.toSampleRate(48_000)
    writeFileSync(join(folder, 'voice.wav'), file.toBuffer())
    const browser = await chromium.launch({
      executablePath: PATH,
      args: [
        '--no-sandbox',
        '--use-fake-device-for-media-stream',
        '--use-fake-ui-for-media-stream',
        `--use-file-for-fake-audio-capture=${join(folder, 'voice.wav')}`,
        '--autoplay-policy=no-user-gesture-required',
      ],
    })
    return new Chromium(browser, folder)
  }

  /** A page of its own, on a telephone's screen; what it loads from elsewhere, and its errors, are told. */
  async open(
    url: string,
    before: (page: Page) => Promise<void> = async () => {},
  ): Promise<{ page: Page; faults: string[] }> {
    const context = await this.#browser.newContext({
      viewport: { width: 412, height: 860 },
      permissions: ['microphone'],
    })
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
    await this.#browser.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
