import Type, { type Static } from 'typebox'
import { apiObject, input, objectName, oneOf, timestamp } from '../kernel/schema.ts'
import { showRow } from '../kernel/show-row.ts'
import type { AudioAssetRow } from './tables.ts'

export const MAX_UPLOAD_BYTES = 20 * 1024 * 1024

const KINDS = oneOf(['prompt', 'music'], { description: 'prompt: IVR or flow prompt; music: queue hold music.' })

/** Specification, "AudioAsset". */
export const audioAssetSchema = apiObject('audio_asset', {
  name: Type.String(),
  kind: KINDS,
  sample_rate: Type.Integer({ description: 'Of the stored mono PCM16, at most 16000 [Hz].' }),
  duration_ms: Type.Integer(),
  text: Type.String({ description: 'What the recording says.' }),
  created: timestamp(),
})
export type AudioAsset = Static<typeof audioAssetSchema>

const name = objectName()
const text = Type.String({ maxLength: 10_000, description: 'What the recording says.' })

export const createBody = input({
  file: input({
    content_base64: Type.String({ minLength: 1, description: 'WAV file, base64.' }),
    filename: Type.Optional(Type.String({ maxLength: 255, description: 'Not kept: `name` names the asset.' })),
  }),
  kind: Type.Optional(oneOf(['prompt', 'music'], { default: 'prompt' })),
  name: Type.Optional(name),
  text: Type.Optional(text),
})

export const changeBody = input({ name: Type.Optional(name), text: Type.Optional(text) })

export const toAudioAsset = (row: AudioAssetRow): AudioAsset => showRow(audioAssetSchema, row)
