/** Assembles `codecs/kernels/frames.wat` into the module beside it: `node --import tsx build/make-kernels.ts`, whenever it was changed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import wabt from 'wabt'

const SOURCE = new URL('../codecs/kernels/frames.wat', import.meta.url)
const MODULE = new URL('../codecs/kernels/frames-wasm.ts', import.meta.url)
const LINE = 120

/** The text of the module that goes with a source. */
export async function assembled(source: string): Promise<string> {
  const { parseWat } = await wabt()
  const { buffer } = parseWat('frames.wat', source, { simd: true }).toBinary({})
  const text = Buffer.from(buffer).toString('base64')
  const lines = text.match(new RegExp(`.{1,${LINE}}`, 'g'))!
  return `/** Made of frames.wat by build/make-kernels.ts. */\nexport const FRAMES_WASM = \`\n${lines.join('\n')}\n\`\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(MODULE, await assembled(readFileSync(SOURCE, 'utf8')))
