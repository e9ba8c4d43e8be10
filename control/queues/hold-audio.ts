import type { PlaySource } from '../../media/protocol.ts'
import { placePhrase, type Speaker } from '../kernel/phrases.ts'
import type { QueueSettings } from './settings/schema.ts'

/** What a waiting caller hears: `said` once, then `loop` until the wait is over. */
interface HoldAudio {
  said: PlaySource[]
  loop: PlaySource[]
}

interface Listener {
  position: number
  /** The caller has just joined, and so hears the queue's announcement. */
  isNew: boolean
  /** The voice of the queue's assistant, or the default voice. */
  speaker: Speaker
  /** Path of the hold audio's asset; null: none, and music is played instead. */
  assetFile: string | null
  /** The ringback tone of the caller's country. */
  ringback: PlaySource
}

export function holdAudio({ hold }: Pick<QueueSettings, 'hold'>, listener: Listener): HoldAudio {
  const { speaker } = listener
  const speech = (text: string): PlaySource => ({ kind: 'speech', text, ...speaker })
  const said = listener.isNew && hold.announcement !== '' ? [speech(hold.announcement)] : []
  if (hold.announce_position) said.push(placePhrase(listener.position, speaker))
  return { said, loop: [loopOf(hold.audio, listener)] }
}

function loopOf(
  audio: QueueSettings['hold']['audio'],
  { assetFile, ringback }: Pick<Listener, 'assetFile' | 'ringback'>,
): PlaySource {
  switch (audio) {
    case 'ringback':
      return ringback
    case 'silence':
      return { kind: 'silence', ms: 1000 }
    case 'asset':
      return assetFile === null ? { kind: 'music' } : { kind: 'file', path: assetFile }
    case 'music':
      return { kind: 'music' }
  }
}
