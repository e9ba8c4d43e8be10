import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The file of an audio asset. */
export const audioPath = (dataDir: string, id: string): string => join(dataDir, 'audio', `${id}.wav`)

/** Writes the file so that it is whole or not there, also after a power cut. */
export async function writeAudio(dataDir: string, id: string, bytes: Uint8Array): Promise<void> {
  const path = audioPath(dataDir, id)
  await mkdir(join(dataDir, 'audio'), { recursive: true })
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
