import Type from 'typebox'
import { fileMissing, missing } from '../http/errors.ts'
import { listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import { fileAnswer } from '../http/wire/file-answer.ts'
import { deletedObject } from '../kernel/schema.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { type AudioAssetDeps, changeAsset, createAsset, deleteAsset } from './audio-asset.ts'
import { audioPath } from './files.ts'
import { audioAssetSchema, changeBody, createBody, MAX_UPLOAD_BYTES, toAudioAsset } from './schema.ts'

const api = operations('Audio assets', 'audio')

export function audioAssetRoutes(deps: AudioAssetDeps): Route[] {
  const { store, dataDir } = deps
  const plain = plainOf({ store, table: 'audio_assets', api, reply: audioAssetSchema, toObject: toAudioAsset })
  return [
    api.post({
      path: '/audio_assets',
      id: 'createAudioAsset',
      summary: 'Upload a recording',
      description:
        'A WAV file: mono or stereo PCM of 8 to 48 kHz at 8, 16, 24 or 32 bits or float, or G.711; at most 20 MB and ' +
        '10 minutes. Stored as mono 16-bit PCM at up to 16 kHz. JSON, or `multipart/form-data` with a `file` part.',
      upload: { maxBytes: MAX_UPLOAD_BYTES, tooLarge: 'audio_too_large' },
      body: createBody,
      status: 201,
      errors: [409],
      reply: audioAssetSchema,
      handler: (context, { body }) => createAsset(deps, context, body),
    }),
    listRoute(plain),
    retrieveRoute(plain),
    api.get({
      path: '/audio_assets/:id/content',
      id: 'getAudioAssetContent',
      summary: 'Download a recording',
      description: 'The stored WAV file. `Range: bytes=…` gives a part of it.',
      reply: Type.String({ format: 'binary' }),
      rawType: 'audio/wav',
      errors: [416],
      handler: async (context, { params, headers }) => {
        const row = await forTenant(store.db, context).find('audio_assets', params.id)
        if (row === undefined) return missing('audio_asset', params.id)
        const answer = await fileAnswer(audioPath(dataDir, row.id), 'audio/wav', headers.range)
        return answer ?? fileMissing('audio_asset', row.id)
      },
    }),
    api.patch({
      path: '/audio_assets/:id',
      id: 'updateAudioAsset',
      summary: 'Change the name or the text of a recording',
      description: 'The audio cannot be replaced; upload a new asset.',
      body: changeBody,
      reply: audioAssetSchema,
      handler: (context, { params, body }) => changeAsset(context, params.id, body),
    }),
    api.delete({
      path: '/audio_assets/:id',
      id: 'deleteAudioAsset',
      summary: 'Delete a recording',
      description: "409 while a flow or a queue's hold audio uses it; `details.used_by` lists them.",
      reply: deletedObject('audio_asset'),
      errors: [409],
      handler: (context, { params }) => deleteAsset(deps, context, params.id),
    }),
  ]
}
