import type { Static } from 'typebox'
import { decodeBase64 } from '../http/base64.ts'
import type { Context } from '../http/context.ts'
import { invalid, isProblem, type Problem, problem } from '../http/errors.ts'
import { type UsesOf, usedProblem } from '../http/references.ts'
import { newId } from '../kernel/ids.ts'
import type { Store } from '../kernel/store/store.ts'
import { forTenant, ownedBy } from '../kernel/tenancy.ts'
import { count, release } from '../usage/ledger.ts'
import type { ConvertAudio } from './convert.ts'
import { removeAudio, writeAudio } from './files.ts'
import { type AudioAsset, type changeBody, type createBody, MAX_UPLOAD_BYTES, toAudioAsset } from './schema.ts'

export interface AudioAssetDeps {
  store: Store
  now: () => Date
  dataDir: string
  convert: ConvertAudio
  /** What uses an asset, such as flows and queues. */
  usesOf: UsesOf
}

const BUSY_RETRY_S = 5

/** The file is written before the row: a file without a row is harmless, a row without a file would be broken. */
export async function createAsset(
  deps: AudioAssetDeps,
  context: Context,
  body: Static<typeof createBody>,
): Promise<AudioAsset | Problem> {
  const upload = decodeBase64(body.file.content_base64)
  if (upload === null) return invalid('file.content_base64', 'Not base64.')
  if (upload.length > MAX_UPLOAD_BYTES) {
    return problem('audio_too_large', `The file has ${upload.length} bytes, more than ${MAX_UPLOAD_BYTES}.`, {
      param: 'file',
    })
  }
  const stored = await deps.convert(upload)
  if (stored === 'busy') {
    return problem('capacity_exhausted', 'Too many uploads at once.', { retryAfterS: BUSY_RETRY_S })
  }
  if ('refused' in stored) return problem(stored.refused, stored.message, { param: 'file' })
  const created = deps.now().toISOString()
  const kind = body.kind ?? 'prompt'
  const row = {
    id: newId('audio_asset'),
    name: body.name ?? `${kind === 'music' ? 'Music' : 'Prompt'} ${created}`,
    kind,
    sample_rate: stored.sampleRateHz,
    duration_ms: stored.durationMs,
    text: body.text ?? '',
    created,
  }
  await writeAudio(deps.dataDir, row.id, stored.bytes)
  const answer = await context.transaction(async (trx): Promise<AudioAsset | Problem> => {
    await forTenant(trx, context).insert('audio_assets', row)
    await count(trx, context, { sourceId: row.id, at: created, amounts: { stored_bytes: stored.bytes.length } })
    return toAudioAsset({ ...row, ...ownedBy(context) })
  })
  if (isProblem(answer)) await removeAudio(deps.dataDir, row.id)
  return answer
}

export const changeAsset = (
  context: Context,
  id: string,
  body: Static<typeof changeBody>,
): Promise<AudioAsset | Problem> =>
  context.withRow('audio_assets', 'audio_asset', id, async (trx, row) => {
    if (Object.keys(body).length > 0) await forTenant(trx, context).change('audio_assets', id, body)
    return toAudioAsset({ ...row, ...body })
  })

/** The row is deleted first: if the process dies in between, only a file without a row remains, which is swept later. */
export async function deleteAsset({ dataDir, now, usesOf }: AudioAssetDeps, context: Context, id: string) {
  const answer = await context.withRow('audio_assets', 'audio_asset', id, async trx => {
    const used = usedProblem('audio asset', await usesOf(trx, context, id))
    if (used !== null) return used
    await forTenant(trx, context).delete('audio_assets').where('id', '=', id).execute()
    await release(trx, context, id, now().toISOString())
    return { object: 'audio_asset' as const, id, deleted: true as const, livemode: context.livemode }
  })
  if ('deleted' in answer) await removeAudio(dataDir, id)
  return answer
}
