import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sweepOrphans } from '../../kernel/orphan-files.ts'
import type { Db } from '../../kernel/store/store.ts'
import type { RecordingRow } from '../tables.ts'
import { callCaptureOf } from './call-capture.ts'

const folder = (dataDir: string): string => join(dataDir, 'recordings')

/** Mixes and compressed forms of recordings. They can be made again at any time. */
const formsFolder = (dataDir: string): string => join(folder(dataDir), 'forms')

/** Path of a recording or a voicemail. */
export const recordingPath = (dataDir: string, id: string): string => join(folder(dataDir), `${id}.wav`)

/** `form`: for example `mono.ogg`. */
export const formPath = (dataDir: string, id: string, form: string): string =>
  join(formsFolder(dataDir), `${id}.${form}`)

/** Raw channels of recordings that are being made or have failed, in a folder of each; what media could not finish after a crash is `<id>.failed`. */
const partialsFolder = (dataDir: string): string => join(folder(dataDir), '.partial')

const FORMS = ['mono.wav', 'stereo.wav', 'mono.ogg', 'stereo.ogg']

/** Idempotent. Files on another node's disk are found by the sweep of that node. */
export async function removeRecordingFiles(dataDir: string, id: string): Promise<void> {
  const partials = [id, `${id}.failed`].map(name => join(partialsFolder(dataDir), name))
  const paths = [recordingPath(dataDir, id), ...FORMS.map(form => formPath(dataDir, id, form)), ...partials]
  await Promise.all(paths.map(path => rm(path, { force: true, recursive: true })))
}

/**
 * Removes the files of recordings and voicemails that no longer exist, and what was recorded while its consent was being withdrawn. Those of a node that
 * was lost stay: it may have come back and finished them.
 */
export async function sweepRecordings(db: Db, dataDir: string, now: Date): Promise<number> {
  const known = async (names: string[]): Promise<ReadonlySet<string>> => {
    const ids = [...new Set(names.map(name => name.split('.', 1)[0] ?? ''))]
    const rows = db
      .selectFrom('recordings')
      .leftJoin('calls', 'calls.id', 'recordings.call_id')
      .where('call_id', 'in', ids)
    const recordings = await rows.select(['call_id as id', 'recordings.status', 'capture']).execute()
    const voicemails = await db.selectFrom('voicemails').select('id').where('id', 'in', ids).execute()
    const kept = new Set([...recordings.filter(isKept), ...voicemails].map(({ id }) => id))
    // An unfinished one is made again on request.
    return new Set(names.filter(name => !name.endsWith('.new') && kept.has(name.split('.', 1)[0] ?? '')))
  }
  const recordings = await sweepOrphans(folder(dataDir), known, now)
  const forms = await sweepOrphans(formsFolder(dataDir), known, now)
  return recordings + forms + (await sweepOrphans(partialsFolder(dataDir), known, now, 'folders'))
}

/** Whether its caller has not refused it before it began. */
const isKept = ({ status, capture }: { status: RecordingRow['status']; capture: string | null }): boolean =>
  status !== 'failed' || callCaptureOf({ capture })?.asked !== 'refused'
