/** What the bundles of `dist/` begin with, and what goes into them. */
import { isBuiltin } from 'node:module'
import type { BuildOptions, Plugin } from 'esbuild'

/** What is started as a process or a thread of its own: modules, their paths below the root without extension. */
export const ENTRIES = [
  'control/wiring/cli',
  'control/wiring/main',
  'control/audio/convert-worker',
  'control/kernel/store/checkpoint-worker',
  'control/calls/capture/form-worker',
  'media/main',
  'media/engine/engine-thread',
  'media/engine/clip-worker',
  'media/recordings/recording-worker',
  'media/speech/speech-process',
  'media/speech/flite-worker',
  'media/speech/moonshine-worker',
]

/** Packages with machine code, WebAssembly, data or threads of their own beside them: loaded from where they lie. */
const WITH_FILES =
  /^(@echogarden|@moonshine-ai|@sapphi-red|better-sqlite3|esbuild|koffi|libopus-wasm|llama-tokenizer-js|onnxruntime-web|pdfkit|pino-pretty|tsx)(\/|$)/
/** What a package asks for and does without. */
const OPTIONAL = /^(bufferutil|pg-cloudflare|pg-native|utf-8-validate)$/

/** Packages are loaded from where they lie, but for those whose path fits; and so is what is loaded when it is needed: bundled, a package in CommonJS would have no names. */
const bundling = (isBundled: (path: string) => boolean): Plugin => ({
  name: 'packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || (kind !== 'dynamic-import' && isBundled(path) && !isBuiltin(path))
        ? undefined
        : { path, external: true },
    )
  },
})

/** The product's: a process that looks packages up file by file takes half as long again to begin. `npm start` builds anew, so that `npm update` reaches them. */
export const packages = bundling(path => !WITH_FILES.test(path) && !OPTIONAL.test(path))

/** The tests': a process runs many files, so that only packages of hundreds of modules are worth it. */
export const largePackages = bundling(path => /^(kysely|typebox)(\/|$)/.test(path))

/** How modules become bundles, those of the product and those of the tests. */
export const BUNDLES = {
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  // Packages in CommonJS ask for Node's own modules by `require`.
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
  },
} as const satisfies BuildOptions
