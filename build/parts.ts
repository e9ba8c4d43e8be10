/** What the bundles of `dist/` begin with, and what goes into them. */
import type { Plugin } from 'esbuild'

/** What is started as a process or a thread of its own: modules, their paths below the root without extension. */
export const ENTRIES = [
  'control/wiring/cli',
  'control/wiring/main',
  'control/audio/convert-worker',
  'control/calls/capture/form-worker',
  'media/main',
  'media/engine/engine-thread',
  'media/engine/clip-worker',
  'media/recordings/recording-worker',
  'media/speech/speech-process',
  'media/speech/flite-worker',
  'media/speech/moonshine/moonshine-worker',
]

/** Packages of hundreds of modules each; the others are loaded as they are, so that `npm update` reaches them. */
const BUNDLED = /^(kysely|typebox)(\/|$)/

export const packages: Plugin = {
  name: 'packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || BUNDLED.test(path) ? undefined : { path, external: true },
    )
  },
}
