import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sweepOrphans } from '../kernel/orphan-files.ts'
import type { Db } from '../kernel/store/store.ts'

const audioFolder = (dataDir: string): string => join(dataDir, 'audio')

/** The file of an audio asset. */
export const audioPath = (dataDir: string, id: string): string => join(audioFolder(dataDir), `${id}.wav`)

/** Writes the file so that it is complete or absent, even after a power failure. */
export async function writeAudio(dataDir: string, id: string, bytes: Uint8Array): Promise<void> {
  const path = audioPath(dataDir, id)
  await mkdir(audioFolder(dataDir), { recursive: true })
  const file = await open(`${path}.new`, 'w')
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

/** Idempotent. */
export const removeAudio = (dataDir: string, id: string): Promise<void> => rm(audioPath(dataDir, id), { force: true })

/** Removes files without an asset. */
export const sweepAudio = (db: Db, dataDir: string, now: Date): Promise<number> =>
  sweepOrphans(
    audioFolder(dataDir),
    async names => {
      const ids = names.map(name => name.split('.', 1)[0] ?? '')
      const rows = await db.selectFrom('audio_assets').select('id').where('id', 'in', ids).execute()
      return new Set(rows.map(({ id }) => `${id}.wav`))
    },
    now,
  )
